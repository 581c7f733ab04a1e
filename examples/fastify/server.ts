/** The application that main.ts kills: a page of its own, and agents below /api/agents. */
import middie from '@fastify/middie'
import Fastify from 'fastify'
import { holdfast } from 'holdfast'
import { counter } from '../hello/agents.ts'

const [, , path = 'runs.db', port = '7788'] = process.argv
const hf = holdfast({ components: [counter], store: `sqlite:${path}`, basePath: '/api/agents' })
await hf.ready() // continues runs that a crash interrupted

const app = Fastify()
await app.register(middie) // middleware of Connect and Express, before bodies are parsed
app.use('/api/agents', hf.node)
app.get('/', () => 'My application')
hf.attach(app.server)
await app.listen({ port: Number(port), host: '127.0.0.1' })
