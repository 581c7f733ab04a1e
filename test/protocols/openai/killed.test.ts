/** A server that dies during a run: every client gets an error, and the next process knows the run's outcome. */
import { describe, expect, test } from 'vitest'
import OpenAI from 'openai'
import { call } from '../../support/http.ts'
import { startServer } from '../../support/process.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { ways } from './ways.ts'

interface Listed {
  readonly runs: readonly { readonly id: string; readonly events: number }[]
}

describe('OpenAI: a server that is killed midway', () => {
  test('[RUN-3] raises an error in every client, and the run has failed when it is read afterwards', async () => {
    const store = temporaryDatabase()
    const server = await startServer({ store })
    const base = `${server.url}/v1`
    const asked = ways.map(({ ask }) => ask({ base, model: 'lab', input: 'text 3; hang' }))
    const runs = await until(
      'all runs have said something',
      async () => {
        const { body } = await call<Listed>(server, 'GET', '/runs?limit=100')
        return body.runs.length === ways.length && body.runs.every(({ events }) => events >= 5) && body.runs
      },
      { withinMs: 180_000 },
    )
    await server.kill()
    for (const [index, got] of (await Promise.all(asked)).entries()) {
      expect(got.raised, ways[index]!.name).toBeTruthy()
      expect(['stop', 'completed'], ways[index]!.name).not.toContain(got.finish)
    }
    const next = await startServer({ store })
    const client = new OpenAI({ baseURL: `${next.url}/v1`, apiKey: 'none', maxRetries: 0 })
    for (const { id } of runs) {
      const response = id.replace('run_', 'resp_')
      const ended = await until('the run is ended', async () => {
        const found = await client.responses.retrieve(response)
        return found.status !== 'in_progress' && found
      })
      expect(ended.status).toBe('failed')
      expect(ended.error).toMatchObject({ code: 'interrupted' })
      const events: string[] = []
      const again = async (): Promise<void> => {
        for await (const event of await client.responses.retrieve(response, { stream: true })) events.push(event.type)
      }
      await expect(again()).rejects.toBeInstanceOf(Error)
      expect(events.at(-1)).toBe('response.failed')
    }
  }, 180_000)

  test('[LOG-5] resumes its run in the next process, and the client continues after the last event it has', async () => {
    const store = temporaryDatabase()
    const server = await startServer({ store })
    const first = new OpenAI({ baseURL: `${server.url}/v1`, apiKey: 'none', maxRetries: 0 })
    const seen: { id: string; last: number; text: string } = { id: '', last: -1, text: '' }
    const input = 'text 5; sleep 200; die 1; text 5'
    const before = async (): Promise<void> => {
      const events = await first.responses.create({ model: 'lab-resume', input, background: true, stream: true })
      for await (const event of events) {
        seen.last = event.sequence_number
        if (event.type === 'response.created') seen.id = event.response.id
        if (event.type === 'response.output_text.delta') seen.text += event.delta
      }
    }
    await expect(before()).rejects.toBeInstanceOf(Error)
    const next = await startServer({ store })
    const second = new OpenAI({ baseURL: `${next.url}/v1`, apiKey: 'none', maxRetries: 0 })
    for await (const event of await second.responses.retrieve(seen.id, { stream: true, starting_after: seen.last })) {
      expect(event.sequence_number).toBe(++seen.last)
      if (event.type === 'response.output_text.delta') seen.text += event.delta
    }
    const whole = await second.responses.retrieve(seen.id)
    expect(whole.status).toBe('completed')
    expect(seen.text).toBe(whole.output_text)
    expect(seen.text.match(/\[\d+\]/g)).toEqual(Array.from({ length: 10 }, (_, index) => `[${index}]`))
  })
})
