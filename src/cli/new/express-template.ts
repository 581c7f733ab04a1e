/** An Express application with agents at /api/agents. */
import { nodeApplication } from './node-application.ts'

const SERVER = `import express from 'express'
import { hf } from './agents.ts'

await hf.ready() // continues runs that a crash interrupted

const app = express()
app.get('/', (_request, response) => void response.send('My application'))
app.use('/api/agents', hf.node)

const port = Number(process.env.PORT ?? 3000)
const server = app.listen(port, () => console.log(\`listening at http://localhost:\${port}\`))
hf.attach(server) // WebSockets
`

export const expressFiles = nodeApplication({
  what: 'An Express application',
  server: SERVER,
  dependencies: { express: '^5.0.0' },
  devDependencies: { '@types/express': '^5.0.0' },
})
