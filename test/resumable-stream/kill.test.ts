/** A process with the source of a resumable stream is killed: consumers elsewhere get what it wrote, then an error. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../src/core/ports/logger.ts'
import { holdfast } from '../../src/mount/holdfast.ts'
import {
  createResumableStreamContext,
  type CreateResumableStreamContextOptions,
  resumableStreams,
  type ResumableStreamContext,
} from '../../src/resumable-stream/index.ts'
import { startPackageProgram } from '../support/package-program.ts'
import { startPostgres } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { streamOf, textOf, untilError } from '../support/text-streams.ts'

const postgres = await startPostgres()

/** Short, so that another node notices soon that a worker died. */
const LEASE_MS = 2000

/** Prints what a consumer in its own process receives, without end. */
const PRODUCER = `import { holdfast } from 'holdfast'
import { createResumableStreamContext, resumableStreams } from 'holdfast/resumable-stream'
const hf = holdfast({ components: [resumableStreams], store: process.argv[2], limits: { leaseMs: ${LEASE_MS} } })
const context = createResumableStreamContext({ waitUntil: null, holdfast: hf })
let count = 0
const numbers = () => new ReadableStream({ async pull(controller) {
  await new Promise((resolve) => setTimeout(resolve, 1))
  controller.enqueue(++count + ' ')
} })
for await (const piece of await context.resumableStream('numbers', numbers)) process.stdout.write(piece)
`

/** Starts a producer. `kill` returns what its own consumer has received. */
async function produce(store: string): Promise<{ kill(): Promise<string> }> {
  const program = startPackageProgram(PRODUCER, [store])
  await program.untilPrinted(200)
  return {
    async kill() {
      await program.kill()
      return program.printed()
    },
  }
}

function open(options: Partial<CreateResumableStreamContextOptions>): ResumableStreamContext {
  const context = createResumableStreamContext({ waitUntil: null, ...options })
  onTestFinished(() => context.close())
  return context
}

function numbersTo(text: string): string {
  const count = text.split(' ').length - 1
  return Array.from({ length: count }, (_, index) => `${index + 1} `).join('')
}

const interrupted = { name: 'RunError', code: 'interrupted', message: 'the worker that executed the run died' }

test('resumable-stream: after kill -9 of its process, a stream resumes in another one with all its text and an error', async () => {
  const store = `sqlite:${join(temporaryFolder(), 'streams.db')}`
  const output = await (await produce(store)).kill()
  const context = open({ store })
  const { text, error } = await untilError(await context.resumeExistingStream('numbers'))
  expect(error).toMatchObject(interrupted)
  expect(text.startsWith(output)).toBe(true)
  expect(text).toBe(numbersTo(text))
  expect((await untilError(await context.resumeExistingStream('numbers', 101))).text).toBe(text.slice(101))
  expect(await context.hasExistingStream('numbers')).toBe(true)
  const again = await context.createNewResumableStream('numbers', () => streamOf('again'))
  expect(await textOf(again)).toBe('again')
})

test('resumable-stream: a consumer on another node follows a stream over the kill -9 of its process to an error', async () => {
  const store = postgres.url
  const producer = await produce(store)
  const hf = holdfast({ components: [resumableStreams], store, logger: silentLogger, limits: { leaseMs: LEASE_MS } })
  onTestFinished(() => hf.close())
  const context = open({ holdfast: hf })
  expect(await context.hasExistingStream('numbers')).toBe(true)
  const stream = (await context.resumeExistingStream('numbers', 100))!
  const reader = stream.getReader()
  const first = (await reader.read()).value!
  reader.releaseLock()
  const output = await producer.kill()
  const { text, error } = await untilError(stream)
  expect(error).toMatchObject(interrupted)
  const whole = output.slice(0, 100) + first + text
  expect(whole.startsWith(output)).toBe(true)
  expect(whole).toBe(numbersTo(whole))
})
