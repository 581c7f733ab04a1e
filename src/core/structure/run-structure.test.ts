import { describe, expect, test } from 'vitest'
import type { Actor, Event, LoggedEvent } from '../model/event.ts'
import { type Entry, piecesOf } from './entries.ts'
import { RunStructure, type StructureOptions } from './run-structure.ts'

const RUN = 'run_1'

function logged(events: readonly Event[], from = 0): LoggedEvent[] {
  return events.map((event, at) => {
    const index = from + at
    return { ...event, run: RUN, index, time: new Date(index * 1000).toISOString() }
  })
}

function structureOf(events: readonly Event[], options?: StructureOptions): RunStructure {
  const structure = new RunStructure(options)
  for (const event of logged(events)) structure.apply(event)
  return structure
}

function entriesOf<Kind extends Entry['kind']>(structure: RunStructure, kind: Kind): Extract<Entry, { kind: Kind }>[] {
  return structure.entries().filter((entry) => entry.kind === kind) as Extract<Entry, { kind: Kind }>[]
}

function outputOf(text: string, actor?: Actor, message?: string): Event {
  return { type: 'text.delta', data: { text, ...(message !== undefined && { message }) }, ...(actor && { actor }) }
}

function discarded(from: number, data: object = {}, actor?: Actor): Event {
  const common = { attempt: 1, from, scope: 'own', ledger: 'kept', reason: 'failed' } as const
  return { type: 'attempt.discarded', data: { ...common, ...data }, ...(actor && { actor }) }
}

const started: Event = { type: 'run.started', data: { attempt: 1 } }
const member: Actor = { component: 'member', run: 'run_1/member', parent: RUN, kind: 'agent' }
const inner: Actor = { component: 'inner', run: 'run_1/member/inner', parent: member.run, kind: 'agent' }

function calls(actor: Actor, within?: string): Event {
  const key = actor.run.slice(RUN.length + 1)
  return { type: 'actor.started', data: { input: null, key, ...(within !== undefined && { within }) }, actor }
}

function toolCalled(call: string, key?: string, actor?: Actor): Event {
  const data = { call, name: 'search', input: { call }, ...(key !== undefined && { key }) }
  return { type: 'tool.called', data, ...(actor && { actor }) }
}

describe('run structure: texts', () => {
  test('a message, a tool call and a change of speaker each begin a new entry, and a delta continues one', () => {
    const structure = structureOf([
      outputOf('a'),
      outputOf('b'),
      outputOf('c', undefined, 'm2'),
      toolCalled('t'),
      outputOf('d', undefined, 'm2'),
      outputOf('of the member', member),
      outputOf('e', undefined, 'm2'),
    ])
    expect(entriesOf(structure, 'text').map(({ text, index, actor }) => [index, actor, text])).toEqual([
      [0, '', 'ab'],
      [2, '', 'c'],
      [4, '', 'de'],
      [5, member.run, 'of the member'],
    ])
  })

  test('a text that is retracted in its middle is cut there, and further text is a new entry', () => {
    const structure = structureOf([
      outputOf('stays '),
      outputOf('goes '),
      outputOf('too'),
      discarded(1),
      outputOf('again'),
    ])
    expect(entriesOf(structure, 'text').map(({ text, index, retracted }) => [index, text, retracted])).toEqual([
      [0, 'stays ', false],
      [1, 'goes too', true],
      [4, 'again', false],
    ])
  })

  test('text and reasoning of one actor are separate entries', () => {
    const structure = structureOf([
      { type: 'reasoning.delta', data: { text: 'hm' } },
      outputOf('yes'),
      { type: 'reasoning.delta', data: { text: 'why' } },
    ])
    expect(structure.entries().map((entry) => entry.kind)).toEqual(['reasoning', 'text', 'reasoning'])
  })
})

describe('run structure: work', () => {
  test('a retraction with the ledger kept undoes calls that are not in it, and no others', () => {
    const structure = structureOf([toolCalled('own'), toolCalled('recorded', 'search'), discarded(0)])
    expect(entriesOf(structure, 'tool').map(({ call, retracted }) => [call, retracted])).toEqual([
      ['own', true],
      ['recorded', false],
    ])
  })

  test('a retraction with the ledger dropped undoes the work and its attempt', () => {
    const structure = structureOf([
      started,
      toolCalled('t', 'search'),
      discarded(1, { scope: 'all', ledger: 'dropped' }),
      { type: 'run.started', data: { attempt: 2 } },
    ])
    expect(entriesOf(structure, 'tool')).toMatchObject([{ retracted: true, state: 'cut' }])
    expect(entriesOf(structure, 'attempt').map(({ number, state, retracted }) => [number, state, retracted])).toEqual([
      [1, 'cut', true],
      [2, 'running', false],
    ])
  })

  test('a new attempt cuts off tool calls, and resumes steps and components that are in the ledger', () => {
    const structure = structureOf([
      started,
      { type: 'step.started', data: { step: 's', name: 's', key: 's' } },
      calls(member),
      toolCalled('t', 'search', member),
      { type: 'run.started', data: { attempt: 2 } },
      toolCalled('t', 'search', member),
    ])
    expect(structure.open().map(({ kind, index }) => [kind, index])).toEqual([
      ['step', 1],
      ['actor', 2],
      ['tool', 5],
    ])
    expect(entriesOf(structure, 'tool').map(({ state }) => state)).toEqual(['cut', 'running'])
  })

  test('the log names the step around a component, also when another step began later', () => {
    const structure = structureOf([
      { type: 'step.started', data: { step: 'one', name: 'one', key: 'one' } },
      { type: 'step.started', data: { step: 'two', name: 'two', key: 'two' } },
      calls(member, 'step:one'),
      calls(inner),
      outputOf('deep', inner),
    ])
    const chain: number[] = []
    for (let at = structure.entries().at(-1); at !== undefined; at = structure.around(at)) chain.push(at.index)
    expect(chain).toEqual([4, 3, 2, 0])
  })

  test('the end of a run ends what was open and the wait for an answer', () => {
    const structure = structureOf([
      started,
      toolCalled('t'),
      { type: 'run.paused', data: { questions: [{ id: 'q', kind: 'input', prompt: '?' }] } },
      { type: 'run.cancelled', data: { reason: 'enough' } },
    ])
    expect(structure.open()).toEqual([])
    expect(entriesOf(structure, 'questions')).toMatchObject([{ endedAt: new Date(3000).toISOString() }])
    expect(structure.lifecycle).toMatchObject({ status: 'cancelled', questions: [], error: { message: 'enough' } })
  })
})

describe('run structure: artifacts', () => {
  const chunk = (text: string, append: boolean): Event => ({
    type: 'artifact.added',
    data: { artifact: 'a', mediaType: 'text/plain', text, append },
  })

  test('a retraction takes the end of an artifact that began before it', () => {
    const structure = structureOf([chunk('one', false), chunk('two', true), chunk('three', true), discarded(2)])
    const [artifact] = entriesOf(structure, 'artifact')
    expect(piecesOf(artifact!).map(({ text }) => text)).toEqual(['one', 'two'])
    expect(artifact).toMatchObject({ retracted: false, whole: false })
  })

  test('an artifact that began in what is retracted is retracted, and is not continued', () => {
    const structure = structureOf([chunk('one', false), discarded(0), chunk('two', true)])
    expect(entriesOf(structure, 'artifact').map(({ index, retracted }) => [index, retracted])).toEqual([
      [0, true],
      [2, false],
    ])
  })
})

test('run structure: later events do not change a snapshot', () => {
  const structure = structureOf([started, outputOf('a')])
  const before = structure.entries()
  const copy = JSON.stringify(before)
  for (const event of logged([outputOf('b'), toolCalled('t'), discarded(1)], 2)) structure.apply(event)
  expect(JSON.stringify(before)).toBe(copy)
  expect(structure.entries()).not.toEqual(before)
})

test('a run structure keeps only the requested kinds, and at most maxEntries entries', () => {
  const events = Array.from({ length: 5000 }, (_, call) => [outputOf('x'), toolCalled(`t${call}`)]).flat()
  const structure = structureOf([...events, discarded(0)], { kinds: ['tool'], maxEntries: 10 })
  expect(structure.entries().map(({ kind, retracted }) => [kind, retracted])).toEqual(
    Array.from({ length: 10 }, () => ['tool', true]),
  )
})
