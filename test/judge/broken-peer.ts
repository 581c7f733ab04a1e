/** A chat route with one defect, which the judge of peers must find. Arguments: port, defect. */
import { createServer, type ServerResponse } from 'node:http'
import { setTimeout as wait } from 'node:timers/promises'

const [port, defect] = process.argv.slice(2)
const WORDS = 40
let count = 0

function write(response: ServerResponse, chunk: object): void {
  response.write(`data: ${JSON.stringify(chunk)}\n\n`)
}

/** The run continues without a client. */
async function run(): Promise<void> {
  for (count = 0; count < WORDS; count++) await wait(20)
}

async function stream(response: ServerResponse, isResume: boolean): Promise<void> {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const [missing, repeated] = [isResume && defect === 'loses', isResume && defect === 'doubles']
  for (let word = missing ? 5 : 0; word < WORDS; word++) {
    while (word >= count) await wait(5)
    write(response, { type: 'text-delta', delta: `w${word} `.repeat(repeated && word === 3 ? 2 : 1) })
  }
  if (isResume && defect === 'hangs') return
  write(response, { type: 'finish', finishReason: isResume && defect === 'fails' ? 'error' : 'stop' })
  response.end()
}

createServer((request, response) => {
  const { method, url = '' } = request
  if (url === '/health') response.end('{}')
  else if (method === 'POST') {
    void run()
    void stream(response, false)
  } else if (url.endsWith('/stream')) void stream(response, true)
  else response.end('{"messages":[]}')
}).listen(Number(port), '127.0.0.1')
