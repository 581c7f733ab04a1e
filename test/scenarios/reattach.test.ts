/** A server is killed during a provider's background response, and its successor reattaches. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { followRun, readEvents, startRun } from '../support/http.ts'
import { startServer } from '../support/process.ts'
import { openResponsesProvider } from '../support/responses-provider.ts'
import { temporaryDatabase } from '../support/temporary.ts'
import { until } from '../support/until.ts'

const program = join(import.meta.dirname, 'reattach/agents.ts')
const WORDS = 'It goes on in the background, whoever was listening when it began.'.match(/\S+\s*/g)!

test('[RUN-1] [LOG-1] [LOG-2] background mode: a server killed twice while text streams pays for one generation', async () => {
  const store = temporaryDatabase()
  const provider = await openResponsesProvider()
  const env = {
    OPENAI_API_KEY: 'key',
    OPENAI_BASE_URL: provider.url,
    NODE_OPTIONS: '--conditions=holdfast-source',
  }
  const start = () => startServer({ store, command: ['serve', program], env })
  let server = await start()
  const { id } = await startRun(server, 'write', { component: 'writer' })
  await until('the provider was asked', () => provider.generations.length > 0, { withinMs: 180_000 })
  let seen: Buffer = Buffer.alloc(0)
  for (const spoken of [4, 8]) {
    provider.say(...WORDS.slice(spoken - 4, spoken))
    const stream = followRun(server, id)
    await until('it is heard', () => stream.log.toString().includes(WORDS[spoken - 1]!.trim()), { withinMs: 180_000 })
    stream.cut()
    seen = stream.log
    await server.kill()
    server = await start()
  }
  provider.say(...WORDS.slice(8))
  provider.finish()
  const events = await readEvents(server, id)
  const again = followRun(server, id)
  await again.ended
  expect(provider.started).toBe(1)
  expect(events.at(-1)).toMatchObject({ type: 'run.completed', data: { output: WORDS.join('') } })
  expect(events.filter(({ type }) => type === 'text.delta').map(({ data }) => data['text'])).toEqual(WORDS)
  expect(events.map(({ index }) => index)).toEqual([...events.keys()])
  expect(events.map(({ type }) => type)).not.toContain('attempt.discarded')
  expect(events.filter(({ type }) => type === 'run.started')).toHaveLength(3)
  expect(again.log.subarray(0, seen.length).equals(seen)).toBe(true)
}, 180_000)

test('the program of docs/models.md is the one that this test kills', () => {
  const [, documented] = /```ts\n\/\/ agents\.ts\n([^]*?)```/.exec(readFileSync('docs/models.md', 'utf8')) ?? []
  expect(documented).toBe(readFileSync(program, 'utf8'))
})
