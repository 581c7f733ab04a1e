/** A session that is followed while nodes die: one cursor, valid on every node. */
import { expect, onTestFinished, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { collect, ends, expectWhole } from '../client/session-checks.ts'
import { startNats, urlOf } from '../support/nats.ts'
import { startPostgres } from '../support/postgres.ts'
import type { ServerProcess } from '../support/process.ts'
import { until } from '../support/until.ts'
import { startNode } from './nodes/cluster.ts'

const [postgres, nats] = await Promise.all([startPostgres(), startNats()])
const WITHIN = { withinMs: 180_000 }

async function startedNode(store: string): Promise<ServerProcess> {
  const node = startNode(store)
  await node.listening
  return node
}

test.each([
  ['PostgreSQL', () => postgres.url],
  ['NATS', () => urlOf([nats])],
])(
  '[LOG-1] [LOG-5] %s: sessions.follow delivers every event once while its nodes are killed',
  async (_, url) => {
    let [here, there] = await Promise.all([startedNode(url()), startedNode(url())])
    const leave = new AbortController()
    onTestFinished(() => leave.abort())
    const clientOf = (node: () => ServerProcess) =>
      createClient({
        url: 'http://node',
        shareConnections: false,
        retryDelayMs: 20,
        fetch: (input, init) => fetch(new Request(input).url.replace('http://node', node().url), init),
      })
    const start = (input: string) => clientOf(() => there).runs.start({ component: 'lab-resume', input, session: 's1' })

    const stream = clientOf(() => here).sessions.follow('s1', { signal: leave.signal })
    const events = collect(stream)
    const first = await start('text 60 every 30')
    await until('events of another node arrive', () => events.length > 10, WITHIN)
    const dead = here
    here = there
    await dead.kill()
    const second = await start('text 60 every 30')
    await until(
      'both runs are followed',
      () => events.some(({ run, index }) => run === second.id && index > 10),
      WITHIN,
    )
    const executing = there
    there = here = await startedNode(url())
    await executing.kill()
    await until('both have ended', () => ends(events) === 2, WITHIN)
    await expectWhole(
      clientOf(() => there),
      events,
      [first.id, second.id],
    )
    expect(events.filter(({ type }) => type === 'run.completed')).toHaveLength(2)
  },
  480_000,
)
