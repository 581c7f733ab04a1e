/** Memory of a remote task's output is bounded by the task, not by the number of its updates. */
import { expect, test } from 'vitest'
import { heldMegabytes } from '../../../test/support/memory.ts'
import { TaskAssembler } from '../../a2a/task-assembler.ts'
import type { TaskUpdate } from '../../a2a/types.ts'
import { type Marks, TaskOutput } from './task-output.ts'

const PIECES = 200
const PIECE = 8000
const MEGABYTES = (PIECES * PIECE) / (1024 * 1024)

/** A text that V8 keeps as one byte a character, and that no two pieces share. */
function piece(number: number): string {
  return Buffer.alloc(PIECE, `${number} `).toString('latin1')
}

async function grown(updates: Iterable<TaskUpdate>): Promise<{ text: string; megabytes: number }> {
  const assembly = new TaskAssembler()
  const output = new TaskOutput('run')
  const before = await heldMegabytes()
  // The log keeps what it was given until its commit.
  const scripted: string[] = []
  for (const update of updates)
    for (const fresh of assembly.add(update))
      for (const event of output.add(fresh)) if (event.type === 'text.delta') scripted.push(event.data.text)
  const megabytes = (await heldMegabytes()) - before
  expect(output.output).toBeUndefined() // too long to be recorded again
  return { text: scripted.join(''), megabytes }
}

function* chunks(): Generator<TaskUpdate> {
  for (let number = 0; number < PIECES; number++) {
    const artifact = { artifactId: 'a', parts: [{ text: piece(number) }] }
    yield { artifactUpdate: { taskId: 't', artifact, append: number > 0 } }
  }
}

function* snapshots(): Generator<TaskUpdate> {
  let text = ''
  for (let number = 0; number < PIECES; number++) {
    text += piece(number)
    const parts = [{ text: JSON.parse(JSON.stringify(text)) as string }]
    yield { task: { id: 't', status: { state: 'TASK_STATE_WORKING' }, artifacts: [{ artifactId: 'a', parts }] } }
  }
}

test.each([
  ['streamed', chunks],
  ['polled', snapshots],
] as const)('remote A2A: an artifact that is %s in many pieces is stored once', async (_way, updates) => {
  const { text, megabytes } = await grown(updates())
  expect(text).toHaveLength(PIECES * PIECE)
  // The pieces, and at most a few copies of the whole; each of the prefixes together would be 150 MB.
  expect(megabytes).toBeLessThan(8 * MEGABYTES)
})

test('remote A2A: a value that is larger than an event is its JSON text in chunks', () => {
  const value = { rows: Array.from({ length: 300_000 }, (_, number) => `row ${number}`) }
  const output = new TaskOutput('t')
  const artifact = { artifactId: 'a', parts: [{ data: value }] }
  const added = [...output.add({ artifactUpdate: { taskId: 't', contextId: 'c', artifact } })].map(
    ({ data }) => data as { text: string; mediaType: string; append?: boolean; last?: boolean },
  )
  expect(added.length).toBeGreaterThan(1)
  expect(added.every(({ mediaType }) => mediaType === 'application/json')).toBe(true)
  expect(JSON.parse(added.map(({ text }) => text).join(''))).toEqual(value)
  expect(added.map(({ append = false }) => append)).toEqual(added.map((_, place) => place > 0))
  expect(added.findIndex(({ last }) => last === true)).toBe(added.length - 1)
})

test('remote A2A: a file that is larger than an event is an artifact in chunks that can be decoded one by one', () => {
  const file = Buffer.alloc(5 * 1024 * 1024, 'file')
  const parts = [{ raw: file.toString('base64'), mediaType: 'image/png', filename: 'a.png' }]
  const output = new TaskOutput('t')
  const events = [
    ...output.add({ artifactUpdate: { taskId: 't', contextId: 'c', artifact: { artifactId: 'a', parts } } }),
  ]
  const added = events.map(({ data }) => data as { bytes: string; append?: boolean; last?: boolean; name: string })
  expect(Buffer.concat(added.map(({ bytes }) => Buffer.from(bytes, 'base64'))).equals(file)).toBe(true)
  expect(added.map(({ append, last }) => [append ?? false, last ?? false])).toEqual([
    [false, false],
    [true, false],
    [true, false],
    [true, true],
  ])
  expect(Math.max(...added.map((chunk) => JSON.stringify(chunk).length))).toBeLessThan(4 * 1024 * 1024)
  expect(new Set(added.map(({ name }) => name))).toEqual(new Set(['a.png']))
})

test('remote A2A: a result that is also in the history of its task is emitted once', () => {
  // As FastA2A does: chunks without a beginning, the whole at the end, and a task whose history repeats it.
  const about = { taskId: 't', contextId: 'c' }
  const chunk = (text: string, append: boolean): TaskUpdate => ({
    artifactUpdate: { ...about, artifact: { artifactId: 'a', parts: [{ text }] }, append },
  })
  const outputOf = (role: 'ROLE_USER' | 'ROLE_AGENT', text: string, messageId: string) => ({
    role,
    messageId,
    parts: [{ text }],
  })
  const history = [
    outputOf('ROLE_USER', 'go', 'm1'),
    outputOf('ROLE_AGENT', 'w0 w1 ', 'm2'),
    outputOf('ROLE_AGENT', 'By the way.', 'm3'),
  ]
  const end = { state: 'TASK_STATE_COMPLETED' } as const
  const task = {
    id: 't',
    contextId: 'c',
    status: end,
    history,
    artifacts: [{ artifactId: 'a', parts: [{ text: 'w0 w1 ' }] }],
  }
  const updates: TaskUpdate[] = [
    { task: { id: 't', contextId: 'c', status: { state: 'TASK_STATE_SUBMITTED' }, history: history.slice(0, 1) } },
    chunk('w0 ', true),
    chunk('w1 ', true),
    chunk('w0 w1 ', false),
    { statusUpdate: { ...about, status: end } },
    { task },
  ]
  const textOf = (events: Iterable<{ type: string; data: unknown }>) =>
    [...events].flatMap(({ type, data }) => (type === 'text.delta' ? [(data as { text: string }).text] : [])).join('')
  const assembly = new TaskAssembler()
  const output = new TaskOutput('run')
  expect(textOf(updates.flatMap((update) => assembly.add(update).flatMap((fresh) => [...output.add(fresh)])))).toBe(
    'w0 w1 By the way.',
  )
  expect(textOf(new TaskOutput('run').add({ task }))).toBe('By the way.w0 w1 ')
})

test('remote A2A: after a restart, an artifact whose beginning was missed is emitted when the whole artifact arrives', () => {
  const about = { taskId: 't', contextId: 'c' }
  const chunk = (text: string, append: boolean): TaskUpdate => ({
    artifactUpdate: { ...about, artifact: { artifactId: 'a', parts: [{ text }] }, append },
  })
  const textsOf = (events: Iterable<{ type: string; data: unknown }>) =>
    [...events].flatMap(({ type, data }) => (type === 'text.delta' ? [(data as { text: string }).text] : []))
  const rejoined = new TaskOutput('run', undefined, true)
  expect(textsOf(rejoined.add(chunk('w5 ', true)))).toEqual([])
  expect(textsOf(rejoined.add(chunk('w0 w5 ', false)))).toEqual(['w0 w5 '])
  expect(textsOf(rejoined.end())).toEqual([])
  const never = new TaskOutput('run', undefined, true)
  for (const text of ['w5 ', 'w6 ']) void [...never.add(chunk(text, true))]
  expect(textsOf(never.end())).toEqual(['w5 ', 'w6 '])
})

test('remote A2A: a text that is too long to be the output is dropped from memory', async () => {
  const output = new TaskOutput('run')
  const before = await heldMegabytes()
  for (const update of chunks()) void [...output.add(update)]
  expect((await heldMegabytes()) - before).toBeLessThan(MEGABYTES / 4)
  // It still knows what was output.
  const text = Array.from({ length: PIECES }, (_, number) => piece(number)).join('')
  const end = { artifactUpdate: { taskId: 't', artifact: { artifactId: 'a', parts: [{ text: `${text}!` }] } } }
  const later = new TaskOutput('run', JSON.parse(JSON.stringify(output.marks)) as Marks)
  for (const task of [output, later])
    expect([...task.add(end)]).toMatchObject([{ type: 'text.delta', data: { text: '!', message: 'run/a' } }])
  const other = { artifactUpdate: { taskId: 't', artifact: { artifactId: 'a', parts: [{ text: 'new' }] } } }
  expect([...later.add(other)]).toMatchObject([{ type: 'text.started' }, { data: { text: 'new', message: 'run/a.2' } }])
  expect(later.output).toBeUndefined()
})
