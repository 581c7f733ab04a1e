/** Each kind of request × each outcome: failures raise in every client, successes in none, and the text equals the log. */
import { describe, expect, onTestFinished, test } from 'vitest'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { readEvents } from '../../support/http.ts'
import { serveOpenAi, untilRun, type OpenAiServer } from './serve.ts'
import { splitBytes } from './split-bytes.ts'
import { ways } from './ways.ts'

interface Case {
  readonly name: string
  readonly model?: string
  readonly input: string
  /** Done while the run executes. */
  readonly meanwhile?: (server: OpenAiServer) => Promise<unknown>
  /** Each byte of a character comes alone. */
  readonly split?: true
}

const successes: readonly Case[] = [
  { name: 'plain text', input: 'text 3; sleep 5; usage 3 4; text 3' },
  { name: 'reasoning and tools', input: 'reason 2; text 2; tool search; text 2' },
  { name: 'a team', model: 'lab-team', input: 'text 3; tool search' },
  { name: 'long silence with heartbeats', input: 'sleep 120; text 2; sleep 120; text 1' },
  { name: 'unicode split over chunks', input: 'say "dünen 🌊 und 海藻"; say " é🏴‍☠️"', split: true },
]

const failures: readonly Case[] = [
  { name: 'a throw before the first token', input: 'throw boom' },
  { name: 'a throw midway', input: 'text 3; throw boom' },
  { name: 'a throw after a tool', input: 'text 1; tool search; text 1; throw boom' },
  { name: 'something unserializable midway', input: 'text 3; circular; text 2' },
  { name: 'a rejection', input: 'text 1; reject not this' },
  { name: 'a failure that the agent tells', input: 'text 1; fail no luck' },
  { name: 'a stop', input: 'text 3; hang', meanwhile: stop },
  { name: 'a deadline', model: 'lab-hurried', input: 'text 3; hang' },
]

async function stop(server: OpenAiServer): Promise<unknown> {
  const run = await untilRun(server, 4)
  return server.service.stop(localPrincipal, run.id)
}

const SUCCESS = ['stop', 'completed']

describe.each(successes)('success: $name', ({ model = 'lab', input, split }) => {
  test.each(ways)('[RUN-3] OpenAI: it is reported as a success to: $name', async ({ ask }) => {
    const server = await serveOpenAi({ limits: { heartbeatIntervalMs: 40 } })
    const base = split === undefined ? server.base : await throughSplitBytes(server)
    const got = await ask({ base, model, input })
    expect(got.raised).toBeUndefined()
    expect(SUCCESS).toContain(got.finish)
    expect(got.text).toBe(await textOf(server))
  })
})

describe.each(failures)('failure: $name', ({ model = 'lab', input, meanwhile }) => {
  test.each(ways)('[RUN-3] OpenAI: it is never reported as a success to: $name', async ({ ask, streams }) => {
    const server = await serveOpenAi()
    const [got] = await Promise.all([ask({ base: server.base, model, input }), meanwhile?.(server)])
    expect(got.raised).toBeTruthy()
    expect(SUCCESS).not.toContain(got.finish)
    // Streaming clients keep the output from before the failure.
    expect(got.text).toBe(streams || got.text !== '' ? await textOf(server) : '')
  })
})

describe('failure: a server that is drained midway', () => {
  test.each(ways)('[RUN-3] OpenAI: it is never reported as a success to: $name', async ({ ask }) => {
    const server = await serveOpenAi()
    const drained = untilRun(server, 4).then(() => server.close())
    const got = await ask({ base: server.base, model: 'lab', input: 'text 3; hang' })
    expect(got.raised).toBeTruthy()
    expect(SUCCESS).not.toContain(got.finish)
    await drained
  })
})

async function throughSplitBytes({ url }: OpenAiServer): Promise<string> {
  const relay = await splitBytes(url)
  onTestFinished(() => relay.close())
  return `${relay.url}${url.slice(new URL(url).origin.length)}/v1`
}

/** The own text of the newest run's component. */
async function textOf(server: OpenAiServer): Promise<string> {
  const { id } = await untilRun(server)
  const events = await readEvents(server, id)
  return events
    .filter((event) => event.type === 'text.delta' && !('actor' in event))
    .map(({ data }) => String(data['text']))
    .join('')
}
