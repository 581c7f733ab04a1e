/**
 * Makes databases and starts nodes on damaged ones, as a process of its own, so that a crash or a loop that never ends is seen from
 * outside. Reads jobs from its parent, one at a time.
 */
import { createServer, type Server } from '../../src/server/create-server.ts'
import { silentLogger } from '../../src/core/ports/logger.ts'
import type { Principal } from '../../src/core/model/principal.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { crashedCopy } from '../support/crashed-copy.ts'
import { until } from '../support/until.ts'
import { fuzzComponents } from './components.ts'
import type { MadeRun, StoredJob, StoredReply } from './stored-messages.ts'

const OWNERS: readonly Principal[] = [{ id: 'alice' }, { id: 'bob', tenant: 'acme' }]
const READ_BYTES = 1 << 20
/** More than any run of these databases has. */
const READS_MAX = 1000

process.on('message', (job: StoredJob) => void answer(job))
process.on('disconnect', () => process.exit())

async function answer(job: StoredJob): Promise<void> {
  let reply: StoredReply
  try {
    reply = job.does === 'make' ? { made: await make(job.path, job.copy) } : { logs: await read(job.path, job.runs) }
  } catch (cause) {
    reply = { refused: String(cause) }
  }
  process.send!(reply)
}

async function open(path: string): Promise<{ readonly server: Server; readonly store: Store }> {
  const store = await openSqliteStore({ path, logger: silentLogger })
  const server = await createServer({
    store,
    components: fuzzComponents(),
    limits: { drainTimeoutMs: 0, stopGraceMs: 50 },
  })
  return { server, store }
}

/** Runs that are finished and runs that wait, each with a mark that no other has; copied as a crash would leave them. */
async function make(path: string, copy: string): Promise<MadeRun[]> {
  const { server, store } = await open(path)
  const made: MadeRun[] = []
  for (let at = 0; at < 8; at++) {
    const mark = `mark-${at}-${'kelp'.repeat(20)}`
    const input = at % 2 === 0 ? mark : `${mark} ask`
    const principal = OWNERS[at % OWNERS.length]!
    const { stored } = await server.service.start(principal, { component: 'lab', input, protocol: 'native' })
    made.push({ id: stored.run.id, mark: `mark-${at}-` })
  }
  const isSettled = async ({ id }: MadeRun): Promise<boolean> =>
    ['completed', 'paused'].includes((await store.get(id))?.run.status ?? '')
  await until('every run has ended or waits', async () => (await Promise.all(made.map(isSettled))).every(Boolean), {
    withinMs: 180_000,
  })
  crashedCopy(path, copy)
  await server.close()
  return made
}

/** What a node that starts on this database returns for each run. */
async function read(path: string, runs: readonly string[]): Promise<Record<string, string>> {
  const { server, store } = await open(path)
  try {
    for (const principal of OWNERS) await refusable(() => server.service.list(principal, { limit: 100 }))
    const logs: Record<string, string> = {}
    for (const id of runs) logs[id] = await refusable(() => log(store, id))
    return logs
  } finally {
    await server.close()
  }
}

async function refusable(look: () => Promise<unknown>): Promise<string> {
  try {
    const found = await look()
    return typeof found === 'string' ? found : ''
  } catch {
    return ''
  }
}

async function log(store: Store, id: string): Promise<string> {
  let text = ''
  for (let after = -1, reads = 0; reads < READS_MAX; reads++) {
    const slice = await store.read(id, after, READ_BYTES)
    if (slice === undefined || slice.count === 0) return text
    text += Buffer.from(slice.bytes).toString()
    after += slice.count
  }
  throw new Error(`the log of ${id} does not end`)
}
