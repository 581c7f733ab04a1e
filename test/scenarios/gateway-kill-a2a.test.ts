/** A gateway that is killed during an A2A upstream's response continues it: no text is repeated, retracted or lost. */
import { expect, test } from 'vitest'
import { startPeer, type PeerVersion } from '../support/a2a-peers.ts'
import { startServer } from '../support/process.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'

interface Logged {
  readonly type: string
  readonly data: { readonly text?: string; readonly output?: unknown }
}

async function eventsOf(url: string, run: string): Promise<readonly Logged[]> {
  const response = await fetch(`${url}/runs/${run}/events?format=json`, { headers: { accept: 'application/json' } })
  return ((await response.json()) as { events: Logged[] }).events
}

const textOf = (events: readonly Logged[]): string =>
  events.flatMap(({ type, data }) => (type === 'text.delta' ? [data.text] : [])).join('')

test.each(['1.0', '0.3'] as PeerVersion[])(
  '[RUN-5] gateway: after kill -9 the text of an A2A %s upstream continues where the log ends, also if it came in other pieces',
  async (version) => {
    let open = (): void => {}
    const gate = new Promise<void>((resolve) => (open = resolve))
    const { url: upstream, messages } = await startPeer({
      version,
      script: () => [
        { artifact: 'one ' },
        { artifact: 'two "quoted"\n', append: true },
        { until: gate },
        { artifact: 'three ', append: true },
        { artifact: 'four', append: true, last: true },
        { status: 'completed' },
      ],
    })
    const store = temporaryDatabase()
    const command = ['gateway', '--upstream', `a2a=${upstream}`]
    const first = await startServer({ store, command })
    const { components } = (await (await fetch(`${first.url}/components`)).json()) as { components: { id: string }[] }
    const started = await fetch(`${first.url}/runs`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ component: components[0]!.id, input: 'go' }),
    })
    const { id } = (await started.json()) as { id: string }
    await until('the first pieces are in the log', async () => textOf(await eventsOf(first.url, id)).includes('two'))
    const before = await eventsOf(first.url, id)
    await first.kill()
    const second = await startServer({ store, command })
    await until('the run executes again', async () =>
      (await eventsOf(second.url, id)).some(({ type }, at) => at >= before.length && type === 'run.started'),
    )
    open()
    await until('the run ended', async () =>
      (await eventsOf(second.url, id)).some(({ type }) => type === 'run.completed' || type === 'run.failed'),
    )
    const events = await eventsOf(second.url, id)
    expect(events.slice(0, before.length)).toEqual(before)
    expect(textOf(events)).toBe('one two "quoted"\nthree four')
    expect(events.map(({ type }) => type)).not.toContain('attempt.discarded')
    expect(events.at(-1)).toMatchObject({ type: 'run.completed', data: { output: 'one two "quoted"\nthree four' } })
    expect(messages).toHaveLength(1)
    const task = await fetch(`${second.url}/a2a/${components[0]!.id}/tasks/${id}`, {
      headers: { 'a2a-version': '1.0' },
    })
    const { artifacts } = (await task.json()) as { artifacts: { parts: { text: string }[] }[] }
    expect(artifacts.map(({ parts }) => parts.map(({ text }) => text).join(''))).toEqual([
      'one two "quoted"\nthree four',
    ])
  },
)
