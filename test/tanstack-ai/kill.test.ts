/** The process that produces a run of TanStack AI is killed: clients get every event that it had sent, then RUN_ERROR. */
import { join } from 'node:path'
import { resumeServerSentEventsResponse } from '@tanstack/ai'
import { expect, onTestFinished, test } from 'vitest'
import { createStreamDurability } from '../../src/tanstack-ai/index.ts'
import { startPackageProgram } from '../support/package-program.ts'
import { temporaryFolder } from '../support/temporary.ts'

/** Prints each offset when its append has resolved, for ever. */
const PRODUCER = `import { createStreamDurability } from 'holdfast/tanstack-ai'
const adapter = createStreamDurability({ store: process.argv[2] }).adapter({ runId: 'r' })
for (let count = 1; ; count++) {
  const [offset] = await adapter.append([{ type: 'TEXT_MESSAGE_CONTENT', messageId: 'm', delta: count + ' ' }])
  process.stdout.write(offset + ' ')
}
`

test('TanStack AI durability: after kill -9 of its producer, a run replays all that was appended, then RUN_ERROR', async () => {
  const store = `sqlite:${join(temporaryFolder(), 'streams.db')}`
  const program = startPackageProgram(PRODUCER, [store])
  await program.untilPrinted(2000)
  await program.kill()
  const offsets = program.printed().split(' ').slice(0, -1)
  const streams = createStreamDurability({ store })
  onTestFinished(() => streams.close())
  const adapter = streams.adapter(new Request('http://localhost/?runId=r&offset=-1'))
  const frames = (await resumeServerSentEventsResponse({ adapter }).text()).split('\n\n')
  const ids = frames.flatMap((frame) => /^id: ?(.*)$/m.exec(frame)?.[1] ?? [])
  expect(ids.slice(0, offsets.length)).toEqual(offsets)
  const deltas = frames.flatMap((frame) => /"delta":"(\d+) "/.exec(frame)?.[1] ?? [])
  expect(deltas).toEqual(Array.from({ length: ids.length }, (_, index) => String(index + 1)))
  expect(frames.filter((frame) => frame.includes('"RUN_ERROR"'))).toHaveLength(1)
})
