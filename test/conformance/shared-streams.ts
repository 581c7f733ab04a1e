/** Durable Streams and subscriptions on two nodes of a shared store; every shared store runs these tests. */
import { expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../src/core/ports/store.ts'
import { localPrincipal, ownerKey } from '../../src/core/model/principal.ts'
import { SUBSCRIPTIONS } from '../../src/protocols/durable-streams/subscriptions/model.ts'
import type { Server } from '../../src/server/create-server.ts'
import { openInProcess } from '../support/in-process.ts'
import { call } from '../support/http.ts'
import { jumpingClock } from '../support/jumping-clock.ts'
import { until } from '../support/until.ts'
import { receiveWebhooks } from '../protocols/durable-streams/subscriptions/receiver.ts'
import { allOf, subscriber } from '../protocols/durable-streams/subscriptions/serve.ts'

interface SharedPlaces {
  /** The name of a new, empty place. */
  readonly newPlace: () => string
  /** Another node's store there; the node closes it. */
  readonly open: (place: string) => Promise<Store>
}

export function testStreams({ newPlace, open }: SharedPlaces): void {
  async function openNodes() {
    const place = newPlace()
    const clock = jumpingClock()
    const node = async (): Promise<Server> => {
      const store = await open(place)
      return openInProcess({ store, clock, streamWebhooks: { loopback: true } })
    }
    const servers = [await node(), await node()] as const
    const closed = new Set<Server>()
    const close = async (server: Server): Promise<void> => {
      if (!closed.has(server)) await server.close()
      closed.add(server)
    }
    onTestFinished(async () => {
      for (const server of servers) await close(server)
    })
    return { clock, servers, close, clients: servers.map(({ url }) => subscriber({ url })) }
  }

  test('Durable Streams: what one node appends the other reads, and offsets continue across nodes', async () => {
    const { servers, clients } = await openNodes()
    const [here, there] = [clients[0]!, clients[1]!]
    expect(await here.create('log')).toBe(201)
    expect(await there.create('log')).toBe(200)
    for (let at = 0; at < 10; at++) expect(await clients[at % 2]!.append('log', { at })).toBe(204)
    const all = Array.from({ length: 10 }, (_, at) => ({ at }))
    for (const client of clients) expect(await client.messages('log')).toEqual(all)
    const first = await fetch(`${servers[0].url}/v1/stream/log?offset=-1`)
    const next = first.headers.get('stream-next-offset')!
    const waiting = fetch(`${servers[1].url}/v1/stream/log?offset=${next}&live=long-poll`)
    await here.append('log', { at: 10 })
    expect(await (await waiting).json()).toEqual([{ at: 10 }])
    const producer = { 'producer-id': 'p', 'producer-epoch': '0', 'producer-seq': '0' }
    const statuses = []
    for (const { url } of servers) {
      const headers = { 'content-type': 'application/json', ...producer }
      statuses.push((await fetch(`${url}/v1/stream/log`, { method: 'POST', headers, body: '["once"]' })).status)
    }
    expect(statuses).toEqual([200, 204])
    expect((await there.messages('log')).slice(11)).toEqual(['once'])
    expect(await there.removeStream('log')).toBe(204)
    expect((await fetch(`${servers[0].url}/v1/stream/log`)).status).toBe(404)
  })

  test('subscriptions: an append on one node wakes a subscription that another node has just created', async () => {
    const { clock, clients } = await openNodes()
    const [here, there] = [clients[0]!, clients[1]!]
    const { url, received } = await receiveWebhooks(() => ({ body: { done: true } }))
    await here.create('news')
    // This node has looked, and there was no subscription.
    await here.append('news', 'before')
    await there.webhook('hook', url)
    await here.append('news', 'one')
    await until('the wake arrives', () => {
      clock.pass(1000)
      return received.length > 0
    })
    expect(received.map(({ body }) => body.generation)).toEqual([1])
  })

  test('subscriptions: nodes that see the same append create one wake', async () => {
    const { clients } = await openNodes()
    const { url, received } = await receiveWebhooks(() => ({ body: { done: true } }))
    await clients[0]!.create('news')
    await clients[0]!.webhook('hook', url)
    for (let round = 1; round <= 5; round++) {
      await Promise.all(clients.map((client) => client.append('news', round)))
      await until('everything is acknowledged', async () => {
        const { body } = await clients[0]!.get('hook')
        const [link] = body['streams'] as { acked_offset: string }[]
        const tail = received.at(-1)?.body.streams[0]!.tail_offset
        return link!.acked_offset === tail && (await clients[0]!.messages('news')).length === round * 2
      })
    }
    const generations = received.map(({ body }) => body.generation)
    expect(generations).toEqual(generations.map((_, at) => at + 1))
  })

  test('subscriptions: of several workers on several nodes one gets the claim', async () => {
    const { clients } = await openNodes()
    await clients[0]!.create('news')
    await clients[0]!.pull('worker')
    await clients[0]!.append('news', 'one')
    const claims = await Promise.all(
      Array.from({ length: 8 }, (_, at) => clients[at % 2]!.claim('worker', `worker-${at}`)),
    )
    expect(claims.filter(({ status }) => status === 409)).toHaveLength(7)
    const { body } = claims.find(({ status }) => status === 200)!
    // Any node takes the acknowledgement, once.
    const acks = await Promise.all(clients.map((client) => client.ack('worker', body, allOf(body))))
    expect(new Set(acks.map(({ status }) => status))).toEqual(new Set([200, 409]))
  })

  test('subscriptions: the wake of a node that is gone is delivered again by another, when its lease has expired', async () => {
    const { clock, servers, clients, close } = await openNodes()
    const there = clients[1]!
    const { url, received } = await receiveWebhooks()
    await clients[0]!.create('news')
    await clients[0]!.webhook('hook', url, { lease_ttl_ms: 60_000 })
    await clients[0]!.append('news', 'one')
    const { body: first } = await until('the wake arrives', () => received[0])
    await close(servers[0])
    await until('another node delivers it', () => {
      clock.pass(5000)
      return received.length > 1
    })
    const second = received[1]!.body
    expect([first.generation, second.generation]).toEqual([1, 2])
    const answer = (wake: typeof first) =>
      call<{ error?: { code: string } }>(
        { url: `${servers[1].url}/v1/stream/__ds/subscriptions/hook/callback`, token: wake.callback_token },
        'POST',
        '',
        { body: { wake_id: wake.wake_id, generation: wake.generation, done: true } },
      )
    expect((await answer(first)).body.error).toMatchObject({ code: 'FENCED' })
    expect((await answer(second)).status).toBe(200)
    expect((await there.get('hook')).body['status']).toBe('active')
  })

  test('subscriptions: an append whose node died before it woke anybody is found by the scan', async () => {
    const place = newPlace()
    const store = await open(place)
    const clock = jumpingClock()
    const server = await openInProcess({ store, clock, streamWebhooks: { loopback: true } })
    onTestFinished(() => server.close())
    const client = subscriber(server)
    const { url, received } = await receiveWebhooks(() => ({ body: { done: true } }))
    await client.create('news')
    await client.append('news', 'one')
    await client.webhook('hook', url)
    // As if the append had come after the subscription, and its node had died before the wake.
    const owner = ownerKey(localPrincipal)
    const known = (await store.documents.get(owner, SUBSCRIPTIONS, 'hook'))!
    const body = known.body as { links: [string, { acked: number }][] }
    const links = body.links.map(([name, link]) => [name, { ...link, acked: link.acked - 1 }])
    await store.documents.put({ owner, collection: SUBSCRIPTIONS, id: 'hook', body: { ...body, links } })
    await until('the scan finds it', () => {
      clock.pass(1000)
      return received.length === 1
    })
    expect(received[0]!.body.streams).toMatchObject([{ path: 'news', has_pending: true }])
  })
}
