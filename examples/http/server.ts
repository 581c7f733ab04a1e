/** The application that main.ts kills: a server of node:http with a page of its own, and agents below /api/agents. */
import { createServer } from 'node:http'
import { holdfast } from 'holdfast'
import { counter } from '../hello/agents.ts'

const [, , path = 'runs.db', port = '7788'] = process.argv
const hf = holdfast({ components: [counter], store: `sqlite:${path}`, basePath: '/api/agents' })
await hf.ready() // continues runs that a crash interrupted

const server = createServer((request, response) => {
  hf.node(request, response, () => response.end('My application')) // paths that are not Holdfast's
})
hf.attach(server) // WebSockets
server.listen(Number(port), '127.0.0.1')
