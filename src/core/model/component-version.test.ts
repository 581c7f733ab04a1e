/** Changing an agent while its runs are in flight, as documented in docs/recovery.md. */
import { describe, expect, test } from 'vitest'
import { aborted, openNode, subject, type TestNode, textOf } from '../../../test/support/node.ts'
import { World } from '../../../test/support/world.ts'
import type { Component, RunContext } from '../ports/component.ts'
import type { LoggedEvent } from './event.ts'
import { Registry } from '../registry.ts'

const effects: string[] = []

function charge({ tool }: RunContext, input: number): Promise<string> {
  return tool({ name: 'charge', input }, () => {
    effects.push(`charged ${input}`)
    return `receipt of ${input}`
  })
}

/** Charges, and hangs there in its first attempt; `more` runs after that. */
function payments(version: string, amount: number, more?: (context: RunContext) => Promise<unknown>): Component {
  return subject(
    async function* (_, context) {
      yield await charge(context, amount)
      if (context.attempt === 1) await aborted(context.signal)
      if (more !== undefined) yield `, ${String(await more(context))}`
    },
    { version, recovery: 'resume', limits: { replayWaitMs: 50 } },
  )
}

function versionsIn(log: readonly LoggedEvent[]): unknown[] {
  const reported = log.filter(({ type }) => ['run.created', 'run.started', 'run.resumed'].includes(type))
  return reported.map(({ type, data }) => [type.slice('run.'.length), (data as { version?: string }).version])
}

/** A run of version 1 that crashed after it had charged 5, and a node with other code. */
async function deployed(code: Component): Promise<{ world: World; id: string; node: TestNode }> {
  effects.length = 0
  const world = new World(payments('1', 5))
  const id = await world.orphan(1)
  return { world, id, node: world.worker([code]) }
}

describe('[RUN-5] a run started with version 1 of its component', () => {
  test('resumes with a compatible version 2, and records both versions', async () => {
    const notify = (context: RunContext): Promise<string> => context.step('notify', () => 'sent')
    const { id, node } = await deployed(payments('2', 5, notify))
    const log = await node.ended(id)
    expect(textOf(log)).toBe('receipt of 5, sent')
    expect(effects).toEqual(['charged 5'])
    expect(versionsIn(log)).toEqual([
      ['created', '1'],
      ['started', '1'],
      ['started', '2'],
    ])
    expect((await node.get(id)).run.version).toBe('2')
  })

  test('pauses with an incompatible version 2 before anything new happens, and is completed by a rollback and `retry`', async () => {
    const { world, id, node } = await deployed(payments('2', 500))
    const { run } = await node.reached(id, 'paused')
    expect(run).toMatchObject({ version: '2', waiting: [{ kind: 'diverged' }] })
    expect(effects).toEqual(['charged 5'])
    const restored = world.worker([payments('1', 5)])
    await restored.answer(id, { diverged: 'retry' })
    const log = await restored.ended(id)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(textOf(log)).toBe('receipt of 5')
    expect(effects).toEqual(['charged 5'])
    expect(versionsIn(log).slice(2)).toEqual([
      ['started', '2'],
      ['resumed', '1'],
    ])
    expect((await restored.get(id)).run.version).toBe('1')
  })

  test('continues with an incompatible version 2 when that is answered with `continue`', async () => {
    const { id, node } = await deployed(payments('2', 500))
    await node.reached(id, 'paused')
    await node.answer(id, { diverged: 'continue' })
    const log = await node.ended(id)
    expect(log.at(-1)!.type).toBe('run.completed')
    expect(textOf(log)).toBe('receipt of 500')
    expect(effects).toEqual(['charged 5', 'charged 500'])
  })

  test('fails when that is answered with `fail`', async () => {
    const { id, node } = await deployed(payments('2', 500))
    await node.reached(id, 'paused')
    await node.answer(id, { diverged: 'fail' })
    expect((await node.ended(id)).at(-1)).toMatchObject({ type: 'run.failed', data: { error: { code: 'diverged' } } })
    expect(effects).toEqual(['charged 5'])
  })
})

test('a run has no version once code without one has executed it', async () => {
  const { version: _version, ...unversioned } = payments('2', 5)
  const { id, node } = await deployed(unversioned)
  await node.ended(id)
  expect((await node.get(id)).run).not.toHaveProperty('version')
})

test('a run of a component without a version has none in any event', async () => {
  const node = openNode({ components: [subject(async function* () {})] })
  const id = await node.start('subject')
  for (const { data } of await node.ended(id)) expect(data).not.toHaveProperty('version')
  expect((await node.get(id)).run).not.toHaveProperty('version')
})

test.each(['', 'x'.repeat(129), 'two\nlines'])('the component version %j is rejected', (version) => {
  expect(() => new Registry([payments(version, 5)])).toThrow('version of component subject')
})
