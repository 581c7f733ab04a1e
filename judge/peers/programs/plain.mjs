/** The same words through plain node:http, which keeps nothing. */
import { createServer } from 'node:http'
import { answer, jsonOf, wordsOf } from './words.mjs'

const { PORT: port, MODEL_URL: model } = process.env

async function stream(request, response) {
  const { text } = await jsonOf(request)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (message) => response.write(`data: ${JSON.stringify(message)}\n\n`)
  try {
    for await (const word of wordsOf(model, text)) send({ text: word })
    send({ end: 'completed' })
  } catch {
    send({ end: 'failed' })
  }
  response.end()
}

const server = createServer((request, response) => {
  if (request.url === '/health') return answer(response, 200, {})
  stream(request, response).catch(() => response.destroy())
})
server.listen(Number(port), '127.0.0.1')
