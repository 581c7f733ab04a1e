/** The application that main.ts kills: a page of its own, and agents below /api/agents. */
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { holdfast } from 'holdfast'
import { counter } from '../hello/agents.ts'

const [, , path = 'runs.db', port = '7788'] = process.argv
const hf = holdfast({ components: [counter], store: `sqlite:${path}`, basePath: '/api/agents' })
await hf.ready() // continues runs that a crash interrupted

const app = new Hono()
app.get('/', (context) => context.text('My application'))
app.mount('/api/agents', hf.fetch)
serve({ fetch: app.fetch, port: Number(port) })
