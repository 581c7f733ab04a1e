/** Every HTTP route of every protocol under requests that are almost right and requests that are not. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { assertHolds, fuzzSeconds, fuzzTimeoutMs } from './check.ts'
import { type Exchanged, exchange } from './exchange.ts'
import { requestsFor } from './http-requests.ts'
import { type FuzzedRequest, type SentRequest, toSent } from './request.ts'
import { FuzzedServer } from './server.ts'
import { Subjects } from './subjects.ts'
import { holdsBriefly, insidesIn, isFault } from './verdict.ts'

const server = new FuzzedServer()
const subjects = new Subjects()
afterAll(() => server.stop())

const seconds = fuzzSeconds(20)

/** Requests that are sent at once. */
const BATCH_MAX = 8

test(
  'fuzz: every HTTP route responds to fuzzed requests without a 5xx and without blocking the event loop',
  { timeout: fuzzTimeoutMs(seconds) },
  async () => {
    const { routes } = await server.ready()
    expect(routes.length).toBeGreaterThan(100)
    const batches = fc.array(requestsFor(routes), { minLength: 1, maxLength: BATCH_MAX, size: 'max' })
    await assertHolds('HTTP', batches, seconds, hold)
  },
)

async function hold(batch: readonly FuzzedRequest[]): Promise<void> {
  const ready = await server.ready()
  const sent = await Promise.all(
    batch.map(async (request) => toSent(request, await subjects.get(ready, request.route.path, request.subject))),
  )
  await holdsBriefly(server, sent.map(shown).join('\n\n'), async ({ url }, round) => {
    // Turns that several requests share are longer than those of one: what counts are the turns of one.
    if (round > 0) return firstProblem(sent, (each) => problemWith(url, each))
    const problems = await Promise.all(sent.map((each) => problemWith(url, each)))
    return problems.find((problem) => problem !== undefined)
  })
}

async function firstProblem(
  sent: readonly SentRequest[],
  look: (each: SentRequest) => Promise<string | undefined>,
): Promise<string | undefined> {
  for (const each of sent) {
    const problem = await look(each)
    if (problem !== undefined) return problem
  }
  return undefined
}

async function problemWith(url: string, sent: SentRequest): Promise<string | undefined> {
  const answer = await exchange(url, sent)
  if (sent.method !== 'GET' && answer.status < 300) subjects.changed(sent.path)
  return problemIn(answer, sent)
}

function problemIn({ status, contentType, text, isStream }: Exchanged, sent: SentRequest): string | undefined {
  if (isFault(status)) return `answered with ${status}: ${text.slice(0, 500)}`
  if (insidesIn(text, JSON.stringify(sent)) !== undefined)
    return `the answer shows the inside of the server: ${text.slice(0, 500)}`
  return isStream || !contentType.includes('json') ? undefined : jsonProblem(text)
}

function jsonProblem(text: string): string | undefined {
  if (text === '') return undefined
  try {
    JSON.parse(text)
    return undefined
  } catch {
    return `the answer is no JSON: ${text.slice(0, 500)}`
  }
}

function shown({ method, path, headers, body }: SentRequest): string {
  return `${method} ${path}\n${JSON.stringify(headers)}\n${(body ?? '').slice(0, 2000)}`
}
