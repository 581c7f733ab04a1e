import { join } from 'node:path'
import { expect, test } from 'vitest'
import { createClient, type LoggedEvent } from '../../src/client/index.ts'
import { eventsIn, readLog } from '../support/http.ts'
import { type ServerProcess, startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { startFaultProxy } from './fault-proxy.ts'

const DEATHS = Number(process.env['HOLDFAST_TEST_CLIENT_KILLS'] ?? 6)
/** Pieces of text that are seen of each life before it ends. */
const PIECES = 5

test(`[LOG-1, LOG-2, RUN-2] client: the server is killed ${DEATHS} times during one run, and the loop over its events delivers all of them`, async () => {
  const options = {
    store: temporaryDatabase(),
    command: ['serve', join(import.meta.dirname, 'long-run.ts')],
    args: ['--log-level', 'warn', '--drain-timeout', '0'],
  }
  let server: ServerProcess = await startServer(options)
  // The address stays, as behind a load balancer; while nobody listens behind it, connections break.
  const proxy = await startFaultProxy(() => server.url)
  const client = createClient({ url: proxy.url, retries: 1000, retryDelayMs: 20 })
  const run = await client.runs.start({ component: 'long', input: DEATHS + 1 })

  let deaths = 0
  const replaceServer = async (): Promise<void> => {
    // Every fifth server gets SIGTERM and closes its streams with a notice. The first one leaves its compile cache behind.
    if (++deaths % 5 === 1) await server.terminate()
    else await server.kill()
    server = await startServer(options)
  }
  const seen: LoggedEvent[] = []
  const replacements: Promise<void>[] = []
  let pieces = 0
  for await (const event of run.events()) {
    seen.push(event)
    if (event.type === 'run.started') pieces = 0
    if (event.type === 'text.delta' && ++pieces === PIECES && deaths < DEATHS) replacements.push(replaceServer())
  }
  await Promise.all(replacements)

  expect(deaths).toBe(DEATHS)
  expect(seen).toEqual(eventsIn(await readLog(server, run.id)))
  expect(seen.at(-1)!.type).toBe('run.completed')
  expect(seen.filter(({ type }) => type === 'run.started')).toHaveLength(DEATHS + 1)
  const texts = seen.flatMap((event) => (event.type === 'text.delta' ? [event.data.text] : []))
  expect(texts).toEqual(Array.from(texts, (_, number) => `[${number}] `))
  expect(texts.length).toBeGreaterThanOrEqual(DEATHS * PIECES)
}, 240_000)
