/** `node server.ts PORT STORE`: a server with components for every outcome, and limits that are reached quickly. */
import { labComponents } from '../../../src/agents/lab/kinds.ts'
import { createServer } from '../../../src/server/create-server.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { forecaster, hurried } from '../../protocols/openai/components.ts'
import { obedient } from './obedient.ts'

const [port, path] = process.argv.slice(2)
const ending = new Promise((resolve) => process.once('SIGTERM', resolve))
const server = await createServer({
  components: [...labComponents(), hurried, forecaster, obedient],
  store: await openSqliteStore({ path: path! }),
  port: Number(port),
  limits: { heartbeatIntervalMs: 250, leaseMs: 2000, stopGraceMs: 200, drainTimeoutMs: 0 },
})
console.log(`It listens at ${server.url}\nIt is process ${process.pid}`)
await ending
await server.close()
