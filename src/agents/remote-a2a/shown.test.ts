/** What is kept of a remote task costs as much memory as the task, and not as much as all that was ever said of it. */
import { expect, test } from 'vitest'
import { heldMegabytes } from '../../../test/support/memory.ts'
import { TaskAssembler } from '../../a2a/task-assembler.ts'
import type { Update } from '../../a2a/types.ts'
import { type Marks, ShownTask } from './shown.ts'

const PIECES = 200
const PIECE = 8000
const MEGABYTES = (PIECES * PIECE) / (1024 * 1024)

/** A text that V8 keeps as one byte a character, and that no two pieces share. */
function piece(number: number): string {
  return Buffer.alloc(PIECE, `${number} `).toString('latin1')
}

async function grown(updates: Iterable<Update>): Promise<{ text: string; megabytes: number }> {
  const assembly = new TaskAssembler()
  const shown = new ShownTask('run')
  const before = await heldMegabytes()
  // The log keeps what it was given until its commit.
  const said: string[] = []
  for (const update of updates)
    for (const news of assembly.add(update))
      for (const event of shown.add(news)) if (event.type === 'text.delta') said.push(event.data.text)
  const megabytes = (await heldMegabytes()) - before
  expect(shown.output).toBeUndefined() // too long to be recorded again
  return { text: said.join(''), megabytes }
}

function* chunks(): Generator<Update> {
  for (let number = 0; number < PIECES; number++) {
    const artifact = { artifactId: 'a', parts: [{ text: piece(number) }] }
    yield { artifactUpdate: { taskId: 't', artifact, append: number > 0 } }
  }
}

function* snapshots(): Generator<Update> {
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

test('remote A2A: nothing is kept of a text that is too long to be the output', async () => {
  const shown = new ShownTask('run')
  const before = await heldMegabytes()
  for (const update of chunks()) void [...shown.add(update)]
  expect((await heldMegabytes()) - before).toBeLessThan(MEGABYTES / 4)
  // It still knows what was shown.
  const text = Array.from({ length: PIECES }, (_, number) => piece(number)).join('')
  const end = { artifactUpdate: { taskId: 't', artifact: { artifactId: 'a', parts: [{ text: `${text}!` }] } } }
  const later = new ShownTask('run', JSON.parse(JSON.stringify(shown.marks)) as Marks)
  for (const task of [shown, later])
    expect([...task.add(end)]).toMatchObject([{ type: 'text.delta', data: { text: '!', message: 'run/a' } }])
  const other = { artifactUpdate: { taskId: 't', artifact: { artifactId: 'a', parts: [{ text: 'new' }] } } }
  expect([...later.add(other)]).toMatchObject([{ type: 'text.started' }, { data: { text: 'new', message: 'run/a.2' } }])
  expect(later.output).toBeUndefined()
})
