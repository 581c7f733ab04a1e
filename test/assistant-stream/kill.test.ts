/** The process that writes a stream is killed: others get every chunk whose append had resolved, then an error. */
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { assistantStreams, createResumableStreamStore } from '../../src/assistant-stream/index.ts'
import { silentLogger } from '../../src/core/ports/logger.ts'
import { holdfast } from '../../src/mount/holdfast.ts'
import { startPackageProgram } from '../support/package-program.ts'
import { startPostgres } from '../support/postgres.ts'
import { temporaryFolder } from '../support/temporary.ts'

const postgres = await startPostgres()

/** Short, so that another node notices soon that a worker died. */
const LEASE_MS = 2000

/** Prints each chunk when its append has resolved, without end. */
const PRODUCER = `import { holdfast } from 'holdfast'
import { assistantStreams, createResumableStreamStore } from 'holdfast/assistant-stream'
const hf = holdfast({ components: [assistantStreams], store: process.argv[2], limits: { leaseMs: ${LEASE_MS} } })
const store = createResumableStreamStore({ holdfast: hf })
const { lease } = await store.acquireLease('numbers')
for (let count = 1; ; count++) {
  await store.append('numbers', new TextEncoder().encode(count + ' '), lease)
  process.stdout.write(count + ' ')
}
`

const stores = [
  ['after it opens the store', () => `sqlite:${join(temporaryFolder(), 'streams.db')}`, false],
  ['that followed it on another node', () => postgres.url, true],
] as const

test.each(stores)(
  'assistant-stream store: after kill -9 of its producer, a reader %s gets all that was appended, then an error',
  async (_, address, follows) => {
    const store = address()
    const program = startPackageProgram(PRODUCER, [store])
    await program.untilPrinted(200)
    if (!follows) await program.kill()
    const limits = { leaseMs: LEASE_MS }
    const hf = holdfast({ components: [assistantStreams], store, logger: silentLogger, limits })
    onTestFinished(() => hf.close())
    const streams = createResumableStreamStore({ holdfast: hf })
    let text = ''
    const reading = (async () => {
      for await (const { chunk } of streams.read('numbers', '', new AbortController().signal)) {
        if (text === '' && follows) void program.kill()
        text += Buffer.from(chunk).toString()
      }
    })()
    await expect(reading).rejects.toThrow('the worker that executed the run died')
    const count = text.split(' ').length - 1
    expect(text).toBe(Array.from({ length: count }, (_unused, index) => `${index + 1} `).join(''))
    await program.kill()
    expect(text.startsWith(program.printed())).toBe(true)
    expect(await streams.status('numbers')).toBe('error')
    await streams.delete('numbers')
    expect(await streams.acquire('numbers')).toBe('producer')
    await streams.finalize('numbers', 'done')
  },
)
