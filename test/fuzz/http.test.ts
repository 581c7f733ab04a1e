/** Every HTTP route of every protocol with nearly valid and invalid requests. */
import fc from 'fast-check'
import { afterAll, expect, test } from 'vitest'
import { assertHolds, fuzzSeconds, fuzzTimeoutMs } from './check.ts'
import { type Exchanged, exchange } from './exchange.ts'
import { requestsFor } from './http-requests.ts'
import { type FuzzedRequest, type SentRequest, toSent } from './request.ts'
import { FuzzedServer } from './server.ts'
import { Subjects } from './subjects.ts'
import { holdsBriefly, insidesIn, isFault } from './response-checks.ts'

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
    // In the seconds of `npm test` chance may leave one out.
    if (seconds < SECONDS_FOR_ALL) return
    console.info('fuzz: answers below 300 by protocol:', Object.fromEntries(accepted))
    expect([...accepted.keys()].toSorted()).toEqual([...new Set(routes.map(({ protocol }) => protocol))].toSorted())
  },
)

/** Long enough that some requests of every protocol are valid. */
const SECONDS_FOR_ALL = 60
/** Valid requests by protocol: a fuzzer that is always refused tests little. */
const accepted = new Map<string, number>()

async function hold(batch: readonly FuzzedRequest[]): Promise<void> {
  const ready = await server.ready()
  const sent = await Promise.all(
    batch.map(async (request) => {
      const subject = await subjects.get(ready, request.route.path, request.subject)
      return { ...toSent(request, subject), protocol: request.route.protocol }
    }),
  )
  await holdsBriefly(server, sent.map(shown).join('\n\n'), async ({ url }, round) => {
    // Turns that several requests share are longer than those of one: what counts are the turns of one.
    if (round > 0) return firstProblem(sent, (each) => problemWith(url, each))
    const problems = await Promise.all(sent.map((each) => problemWith(url, each)))
    return problems.find((problem) => problem !== undefined)
  })
}

interface ProtocolRequest extends SentRequest {
  readonly protocol: string
}

async function firstProblem(
  sent: readonly ProtocolRequest[],
  look: (each: ProtocolRequest) => Promise<string | undefined>,
): Promise<string | undefined> {
  for (const each of sent) {
    const problem = await look(each)
    if (problem !== undefined) return problem
  }
  return undefined
}

async function problemWith(url: string, sent: ProtocolRequest): Promise<string | undefined> {
  const answer = await exchange(url, sent)
  if (answer.status >= 200 && answer.status < 300) accepted.set(sent.protocol, (accepted.get(sent.protocol) ?? 0) + 1)
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
    return `the answer is not JSON: ${text.slice(0, 500)}`
  }
}

function shown({ method, path, headers, body }: SentRequest): string {
  return `${method} ${path}\n${JSON.stringify(headers)}\n${(body ?? '').slice(0, 2000)}`
}
