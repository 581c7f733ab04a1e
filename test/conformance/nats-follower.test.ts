/** A node that begins to follow a stream comes to know that it has seen all of it, whatever the server counts. */
import * as nats from '@nats-io/transport-node'
import { expect, onTestFinished, test } from 'vitest'
import { Follower } from '../../src/stores/nats/follower.ts'
import { Link } from '../../src/stores/nats/link.ts'
import { startNats } from '../support/nats.ts'

const server = await startNats()

/** A link whose server promises a message that never comes, as when it was removed before it was delivered. */
function misled(link: Link): Link {
  const api = async (what: string, body: { config: object }): Promise<object> => {
    const nothingOfOld = { ...body, config: { ...body.config, deliver_policy: 'new' } }
    return { ...(await link.api<object>(what, nothingOfOld)), num_pending: 1 }
  }
  return new Proxy(link, {
    get: (target, name) => {
      if (name === 'api') return api
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? (member.bind(target) as unknown) : member
    },
  })
}

test('a message that was counted and never comes keeps nobody waiting', async () => {
  const link = await Link.open(nats, {
    servers: [server.address],
    answerMs: 2000,
    onDiverged: () => {},
    onUnfit: () => {},
  })
  onTestFinished(() => link.close())
  await link.api('STREAM.CREATE.counted', {
    name: 'counted',
    subjects: ['counted.>'],
    storage: 'file',
    allow_direct: true,
  })
  await link.publish({ stream: 'counted', subject: 'counted.a', head: '{}' })
  const seen: number[] = []
  const follower = new Follower({
    link: misled(link),
    spot: { stream: 'counted', subject: 'counted.>' },
    onMessage: (_subject, _head, seq) => seen.push(seq),
  })
  onTestFinished(() => follower.stop())
  await follower.start()
  await link.publish({ stream: 'counted', subject: 'counted.b', head: '{}' })
  await follower.caughtUp()
  expect(seen).toEqual([2])
}, 20_000)
