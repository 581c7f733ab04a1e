/** Program: one node with the lab agents. Arguments: store address, port, lease duration. */
import { labComponents } from '../../src/agents/lab/kinds.ts'
import { configOptions } from '../../src/server/config/config-options.ts'
import { createServer } from '../../src/server/create-server.ts'
import { openStore } from '../../src/server/store/open-store.ts'

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
  // Frequent heartbeats, since the judge treats silence as a dead connection; many attempts, since nodes die often.
  limits: { leaseMs: Number(leaseMs), heartbeatIntervalMs: 2000, maxAttempts: 1000, drainTimeoutMs: 500 },
})
process.stdout.write(`Holdfast listens at ${server.url}\n`)
process.once('SIGTERM', () => void server.close().then(() => process.exit(0)))
