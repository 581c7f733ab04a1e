/** A plain EventSource of browsers and Node, without our client. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { eventTable } from '../../../src/core/model/event.ts'
import { hasChromium, useChromium } from '../../browser/chromium.ts'
import { INSTALL_MS } from '../../support/apt.ts'
import { eventsIn, readLog, startRun } from '../../support/http.ts'
import { type CuttingRelay, startCuttingRelay } from './cutting-relay.ts'
import { serveNative } from './serve.ts'

interface ReceivedEvent {
  readonly type: string
  readonly id: string
  readonly data: string
}

/** Runs on the client's side: collects all events until the source gives up. */
function listen({ url, types }: { url: string; types: string[] }): Promise<ReceivedEvent[]> {
  return new Promise((resolve) => {
    const received: ReceivedEvent[] = []
    const source = new EventSource(url)
    for (const type of types) {
      source.addEventListener(type, ({ lastEventId, data }) =>
        received.push({ type, id: lastEventId, data: data as string }),
      )
    }
    source.addEventListener('error', () => {
      if (source.readyState === EventSource.CLOSED) resolve(received)
    })
  })
}

const types = [...Object.keys(eventTable), 'stream.gap', 'stream.closing', 'stream.failed', 'message']

const clients: Readonly<
  Record<
    string,
    { readonly listen: (relay: CuttingRelay, path: string) => Promise<ReceivedEvent[]>; readonly has: boolean }
  >
> = {
  node: { listen: listenInNode, has: true },
  chromium: { listen: listenInChromium, has: hasChromium },
}

describe.each(Object.entries(clients))('the EventSource of %s', (_name, client) => {
  // Skipped where Chromium is missing and cannot be installed; never in CI.
  test.skipIf(!client.has).each([
    ['live', 'text 12 every 10; tool search', [3, 4]],
    ['replayed', 'text 200; say "dünen 🌊"; big 100', [50]],
    ['cut before its first event', 'text 5', [0]],
    ['cut before its last event', 'text 5', [7]],
    ['not cut', 'throw boom', []],
  ])(
    '[RUN-2, SUB-2] gets every event of a run once, and does not reconnect after the last one: %s',
    async (how, script, cuts) => {
      const server = await serveNative()
      const { id } = await startRun(server, script)
      if (how === 'replayed') await readLog(server, id)
      const relay = await startCuttingRelay(server.url, cuts)

      const notified = await client.listen(relay, `/runs/${id}/events`)

      const log = await readLog(server, id)
      expect(notified.map(frameOf).join('')).toBe(log.toString())
      expect(eventsIn(log).length).toBe(notified.length)
      const last = String(notified.length - 1)
      const cursors = cuts.reduce<(string | undefined)[]>(
        (known, cut) => [...known, after(known.at(-1), cut)],
        [undefined],
      )
      expect(relay.requests).toEqual([
        ...cursors.map((lastEventId) => ({ lastEventId, status: 200 })),
        { lastEventId: last, status: 204 },
      ])
    },
    INSTALL_MS + 60_000,
  )
})

/** The cursor of a client that was cut after `events` more events. */
function after(cursor: string | undefined, events: number): string | undefined {
  return events === 0 ? cursor : String(Number(cursor ?? -1) + events)
}

function frameOf({ type, id, data }: ReceivedEvent): string {
  return `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`
}

const NODE_FLAGS = ['--experimental-eventsource', '--no-warnings', '--input-type=module']

async function listenInNode(relay: CuttingRelay, path: string): Promise<ReceivedEvent[]> {
  const given = JSON.stringify({ url: relay.url + path, types })
  // Node's does not keep its process alive while it waits to connect again.
  const program = `const alive = setInterval(() => {}, 1000)
    const heard = await (${listen.toString()})(${given})
    clearInterval(alive)
    process.stdout.write(JSON.stringify(heard))`
  const options = { timeout: 20_000, maxBuffer: 16 * 1024 * 1024 }
  const { stdout } = await promisify(execFile)(process.execPath, [...NODE_FLAGS, '-e', program], options)
  return JSON.parse(stdout) as ReceivedEvent[]
}

const openChromium = useChromium()

async function listenInChromium(relay: CuttingRelay, path: string): Promise<ReceivedEvent[]> {
  const page = await (await openChromium()).newPage()
  await page.goto(`${relay.url}/page`)
  return page.evaluate(listen, { url: path, types })
}
