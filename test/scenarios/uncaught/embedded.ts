/** A program of a third party that embeds a server. */
import { createServer } from '../../../src/server/create-server.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { asker, blunderer, counter, outsider, poker } from './agents.ts'

const server = await createServer({
  components: [blunderer, counter, asker, poker, outsider],
  store: createMemoryStore(),
  limits: { stopGraceMs: 1000 },
  logger: {
    debug: () => {},
    info: () => {},
    warn: () => {},
    error: (fields, message) =>
      process.stderr.write(`${JSON.stringify({ ...fields, err: stackOf(fields), message })}\n`),
  },
})
process.stdout.write(`Holdfast listens at ${server.url}\n`)
process.once('SIGTERM', () => void server.close())

function stackOf({ err }: { err?: unknown }): string | undefined {
  return err instanceof Error ? err.stack : undefined
}
