/** A Hono application with agents at /api/agents. */
import { nodeApplication } from './node-application.ts'

const SERVER = `import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { hf } from './agents.ts'

await hf.ready() // continues runs that a crash interrupted

const app = new Hono()
app.get('/', (context) => context.text('My application'))
app.mount('/api/agents', hf.fetch)

const port = Number(process.env.PORT ?? 3000)
serve({ fetch: app.fetch, port }, () => console.log(\`listening at http://localhost:\${port}\`))
`

export const honoFiles = nodeApplication({
  what: 'A Hono application',
  server: SERVER,
  dependencies: { '@hono/node-server': '^2.0.0', hono: '^4.0.0' },
})
