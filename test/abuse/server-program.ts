/** The server of an abuse run, with the limits that servers have by default: `node server-program.ts FOLDER`. */
import { join } from 'node:path'
import { agent } from '../../src/agents/agent.ts'
import { createServer } from '../../src/server/create-server.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { freePort } from '../support/free-port.ts'
import { createKeys } from '../support/keys.ts'
import type { AbusedServer, MemorySample } from './messages.ts'

interface Ticks {
  readonly count: number
  readonly everyMs: number
}

/** Emits the time, on the clock that all processes of a machine share. */
const ticker = agent<Ticks>({
  id: 'ticker',
  async *run({ count, everyMs }, { sleep }) {
    for (let tick = 0; tick < count; tick++) {
      yield String(process.hrtime.bigint())
      await sleep(everyMs)
    }
  },
})

/** A log that no socket holds at once. */
const large = agent<number>({
  id: 'large',
  async *run(megabytes) {
    for (let piece = 0; piece < megabytes * 16; piece++) yield 'holdfast'.repeat(8 * 1024)
  },
})

const folder = process.argv[2]!
const keys = join(folder, 'keys.json')
const [honestKey, hostileKey] = await createKeys(keys, ['honest', 'hostile'])
const grpcPort = await freePort()
const server = await createServer({
  components: [ticker, large],
  store: await openSqliteStore({ path: join(folder, 'runs.db') }),
  auth: { keys },
  a2a: { grpcPort },
})

process.on('message', () => {
  const sample: MemorySample = { rssBytes: process.memoryUsage.rss() }
  process.send!(sample)
})
process.on('disconnect', () => process.exit())
const ready: AbusedServer = {
  url: server.url,
  grpc: `127.0.0.1:${grpcPort}`,
  honestKey: honestKey!,
  hostileKey: hostileKey!,
}
process.send!(ready)
