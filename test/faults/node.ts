/** A program: one node with the lab agents. Its arguments are the address of the store, a port, and how long a lease lasts. */
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { configOptions } from '../../src/server/config-options.ts'
import { createServer } from '../../src/server/create-server.ts'
import { openStore } from '../../src/server/open-store.ts'

const [store, port, leaseMs] = process.argv.slice(2)
const logger = {
  debug: () => {},
  info: () => {},
  warn: (fields: object, message: string) =>
    console.error(new Date().toISOString(), 'warn', message, JSON.stringify(fields)),
  error: (fields: object, message: string) => console.error(new Date().toISOString(), 'error', message, fields),
}
const server = await createServer({
  components: labComponents(),
  store: await openStore(configOptions.store.parse(store!), logger),
  port: Number(port),
  logger,
  // Heartbeats come often, since the judge takes silence for a dead connection; however often a node dies, runs go on.
  limits: { leaseMs: Number(leaseMs), heartbeatIntervalMs: 2000, attemptsMax: 1000, drainTimeoutMs: 500 },
})
process.stdout.write(`Holdfast listens at ${server.url}\n`)
process.once('SIGTERM', () => void server.stop().then(() => process.exit(0)))
