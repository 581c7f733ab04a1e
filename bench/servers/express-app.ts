/** An Express application with a page of its own: `bare`, or `mounted` with one agent below /api/agents. */
import type { AddressInfo } from 'node:net'
import express from 'express'

const [how, store] = process.argv.slice(2)
const app = express()
app.get('/', (_request, response) => void response.send('My application'))
if (how === 'mounted') {
  const { agent, holdfast } = await import('../../src/index.ts')
  const greeter = agent({
    id: 'greeter',
    async *run(name) {
      yield `Hello, ${name}`
    },
  })
  app.use('/api/agents', holdfast({ components: [greeter], store: store!, basePath: '/api/agents' }).node)
}
const server = app.listen(0, '127.0.0.1', () =>
  console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}`),
)
