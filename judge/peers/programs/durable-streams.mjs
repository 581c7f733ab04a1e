/** A route that lets the model write into a stream of the Durable Streams server, which keeps it in files; readers read the stream itself. */
import { createServer } from 'node:http'
import { request as forward } from 'node:http'
import { DurableStream } from '@durable-streams/client'
import { DurableStreamTestServer } from '@durable-streams/server'
import { answer, jsonOf, wordsOf } from './words.mjs'

const { PORT: port, MODEL_URL: model, DATA: dataDir } = process.env
const streams = new DurableStreamTestServer({ port: 0, host: '127.0.0.1', dataDir })
const base = await streams.start()

async function write(id, text) {
  const stream = await DurableStream.create({ url: `${base}/streams/${id}`, contentType: 'application/json' })
  const end = await fill(stream, text).then(
    () => 'completed',
    () => 'failed',
  )
  await stream.append(JSON.stringify({ end }))
  await stream.close()
}

async function fill(stream, text) {
  for await (const word of wordsOf(model, text)) await stream.append(JSON.stringify({ text: word }))
}

async function start(request, response) {
  const { id, text } = await jsonOf(request)
  write(id, text).catch(console.error)
  // Readers may come once the stream exists.
  for (let tries = 0; tries < 100; tries++) {
    const found = await fetch(`${base}/streams/${id}`, { method: 'HEAD' })
    if (found.ok) return answer(response, 200, { id })
    await new Promise((resolve) => setTimeout(resolve, 20))
  }
  answer(response, 500, {})
}

const server = createServer((request, response) => {
  if (request.url === '/health') return answer(response, 200, {})
  if (request.method === 'POST') return void start(request, response).catch(console.error)
  const { method, headers, url } = request
  const upstream = forward(new URL(url, base), { method, headers }, (found) => {
    response.writeHead(found.statusCode, found.headers)
    found.pipe(response)
    response.on('close', () => found.destroy())
  })
  upstream.on('error', () => response.destroy()).end()
})
server.listen(Number(port), '127.0.0.1')
