/** The application that main.ts kills: Bun.serve with a page of its own, and agents below /api/agents. */
import { holdfast } from 'holdfast'
import { counter } from '../hello/agents.ts'

const [, , path = 'runs.db', port = '7788'] = process.argv
const hf = holdfast({ components: [counter], store: `sqlite:${path}`, basePath: '/api/agents' })
await hf.ready() // continues runs that a crash interrupted

Bun.serve({
  hostname: '127.0.0.1',
  port: Number(port),
  idleTimeout: 0, // streams may be silent for longer than Bun's ten seconds
  fetch(request, server) {
    if (new URL(request.url).pathname === '/') return new Response('My application')
    return hf.fetch(request, { remoteAddress: server.requestIP(request)?.address })
  },
})
