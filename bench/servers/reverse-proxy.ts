/** A streaming reverse proxy by plain `node:http`: it passes bytes on, and knows and stores nothing. Argument: port of the upstream. */
import { Agent, createServer, request as forward } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream'
import { Gate } from '../agent.ts'
import { takeCommands } from './control.ts'

const port = Number(process.argv[2])
const agent = new Agent({ keepAlive: true })

const http = createServer((incoming, response) => {
  const { method, url, headers } = incoming
  const outgoing = forward({ host: '127.0.0.1', port, method, path: url, headers, agent }, (answer) => {
    response.writeHead(answer.statusCode!, answer.headers)
    pipeline(answer, response, () => {})
  })
  outgoing.on('error', () => response.destroy())
  response.on('close', () => outgoing.destroy())
  incoming.pipe(outgoing)
})
http.listen(0, '127.0.0.1', () => takeCommands((http.address() as AddressInfo).port, new Gate(), () => {}))
