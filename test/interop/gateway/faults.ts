/** Faults that are injected directly and through the gateway. Each returns what a client saw. */
import { setTimeout as wait } from 'node:timers/promises'
import type { Served } from '../served.ts'
import type { Upstream } from './upstreams.ts'
import { lookBack, resume, type Seen, stall, start, view, type Viewed, type ViewOptions } from './viewers.ts'

export interface Cell {
  readonly text: string
  /** Must not happen through the gateway: a hang, a wrong outcome, a lost piece. */
  readonly problem?: string
}

export interface Fault {
  readonly title: string
  /** Whether it can happen to an upstream. Default: to any. */
  readonly isOf?: (upstream: Upstream) => boolean
  /** It takes a minute, so CI leaves it out. */
  readonly isSlow?: boolean
  direct(upstream: Upstream): Promise<Cell>
  through(upstream: Upstream, gateway: Served): Promise<Cell>
}

/** Long enough for a phone that was in a tunnel. */
const MINUTE_MS = 60_000
const WORDS = 40
const SCRIPT = `words ${WORDS} every 60`

interface Side {
  readonly base: string
  readonly headers: Readonly<Record<string, string>>
}

function directly({ url, headers }: Upstream): Side {
  return { base: url, headers }
}

/** The paths of the same protocol at the gateway. */
function throughGateway({ protocol, id }: Upstream, { url }: Served): Side {
  const base = { agentos: url, openai: `${url}/v1`, a2a: `${url}/a2a/${id}` }[protocol]
  return { base, headers: {} }
}

function look(
  { base, headers }: Side,
  { protocol, id }: Upstream,
  script: string,
  options?: ViewOptions,
): Promise<Seen> {
  return view(base, start(protocol, id, script), headers, options)
}

/** Resumes as the protocol allows; through the gateway, a chat client reads the rest of the log. */
async function comeBack(
  { base, headers }: Side,
  upstream: Upstream,
  seen: Viewed,
  request = resume,
): Promise<Seen | undefined> {
  const again = request(upstream.protocol, upstream.id, seen)
  if (again !== undefined) return view(base, again, headers, { patienceMs: 20_000 })
  if (upstream.protocol !== 'openai' || !base.endsWith('/v1') || headers['authorization'] !== undefined)
    return undefined
  return logOf(base.replace(/\/v1$/, ''), seen.run)
}

async function logOf(gateway: string, run: string | undefined): Promise<Seen> {
  const response = await fetch(`${gateway}/runs/${run}/events`, { headers: { accept: 'text/event-stream' } })
  const text = await response.text()
  const words = [...text.matchAll(/"type":"text\.delta".*?"text":"(w\d+)/g)].map(([, word]) => word!)
  const [, end = 'no end', code = ''] =
    /"type":"(run\.(?:completed|failed|cancelled))"(?:.*?"code":"(\w+)")?/.exec(text) ?? []
  return { words, end: end === 'run.failed' ? `${end} ${code}` : end, run, session: undefined, index: undefined, ms: 0 }
}

const SUCCESS = /^(RunCompleted|COMPLETED|finish_reason stop|run\.completed)$/

/** The protocol's last frame, with any content. */
function isFinal(end: string): boolean {
  return !['silence', 'cut', 'end without a final event', 'no end'].includes(end)
}

/** Whether the end reports a failure. */
function saysFailure(end: string): boolean {
  return isFinal(end) && !SUCCESS.test(end)
}

function wordsOf(...parts: readonly (Seen | undefined)[]): number {
  return new Set(parts.flatMap((part) => part?.words ?? [])).size
}

function seconds(ms: number): string {
  return `${Math.round(ms / 1000)} s`
}

function outputOf(words: number, total: number): string {
  return words === total ? 'all words' : `${words} of ${total} words`
}

/** A server that has just started is slow to answer for the first time, which is no fault. */
export async function startWarm(upstream: Upstream): Promise<void> {
  await upstream.start()
  await look(directly(upstream), upstream, 'words 1')
}

async function restart(upstream: Upstream): Promise<void> {
  await upstream.kill()
  await startWarm(upstream)
}

async function leaveAndResume(side: Side, upstream: Upstream, awayMs = 1500): Promise<Cell> {
  const first = await look(side, upstream, SCRIPT, { leaveAfter: 5 })
  await wait(awayMs)
  // After a minute the run has ended, and A2A has no stream of a finished task.
  const rest = await comeBack(side, upstream, first, awayMs === MINUTE_MS ? lookBack : resume)
  if (rest === undefined) return { text: `${outputOf(wordsOf(first), WORDS)}; cannot be resumed` }
  const words = wordsOf(first, rest)
  const isWhole = words === WORDS && SUCCESS.test(rest.end)
  const text = `${outputOf(words, WORDS)}, ${rest.end}`
  return isWhole ? { text } : { text, problem: text }
}

/** Joins while the first viewer reads. */
async function secondViewer(side: Side, upstream: Upstream): Promise<Cell> {
  let joining: Promise<Seen | undefined> | undefined
  await look(side, upstream, SCRIPT, {
    onWord(count, { run, session }) {
      if (count >= 5) joining ??= comeBack(side, upstream, { run, session, index: undefined })
    },
  })
  return viewerCell(await joining)
}

/** Comes after the run has ended. */
async function lateViewer(side: Side, upstream: Upstream): Promise<Cell> {
  const { run, session } = await look(side, upstream, SCRIPT)
  return viewerCell(await comeBack(side, upstream, { run, session, index: undefined }, lookBack))
}

function viewerCell(seen: Seen | undefined): Cell {
  if (seen === undefined) return { text: 'impossible' }
  const text = `${outputOf(wordsOf(seen), WORDS)}, ${seen.end}`
  return wordsOf(seen) === WORDS && SUCCESS.test(seen.end) ? { text } : { text, problem: text }
}

async function stalledBesideHealthy(side: Side, upstream: Upstream): Promise<Cell> {
  const script = 'words 400 every 0 size 3000'
  const letGo = stall(side.base, start(upstream.protocol, upstream.id, script), side.headers)
  await wait(1500)
  try {
    const seen = await look(side, upstream, script, { patienceMs: 15_000 })
    const text = `the healthy one: ${outputOf(wordsOf(seen), 400)}, ${seen.end}`
    return SUCCESS.test(seen.end) && wordsOf(seen) === 400 ? { text } : { text, problem: text }
  } finally {
    letGo()
  }
}

async function killedUpstream(side: Side, upstream: Upstream): Promise<Cell> {
  let killedAt = 0
  const seen = await look(side, upstream, SCRIPT, {
    patienceMs: 40_000,
    onWord(count) {
      if (count < 5 || killedAt > 0) return
      killedAt = performance.now()
      void upstream.kill()
    },
  })
  const since = performance.now() - killedAt
  await restart(upstream)
  if (killedAt === 0)
    return { text: `${seen.end} before the kill`, problem: 'the run did not get far enough to be killed' }
  const text = `${seen.end}, ${seconds(since)} after the kill`
  return saysFailure(seen.end) ? { text } : { text, problem: text }
}

/** Some times the idle timeout of the gateway. */
const HANG_LIMIT_MS = 30_000

async function hangs(side: Side, upstream: Upstream, script = 'hang 3'): Promise<Cell> {
  const seen = await look(side, upstream, script, { patienceMs: HANG_LIMIT_MS, limitMs: HANG_LIMIT_MS })
  // Servers with one worker are busy with it for ever.
  await restart(upstream)
  const text =
    seen.end === 'silence' ? `no end within ${seconds(HANG_LIMIT_MS)}` : `${seen.end}, after ${seconds(seen.ms)}`
  return saysFailure(seen.end) ? { text } : { text, problem: text }
}

async function crashOfModel(side: Side, upstream: Upstream, script: string): Promise<Cell> {
  const seen = await look(side, upstream, script, { patienceMs: 30_000 })
  const text = `${wordsOf(seen)} words, ${seen.end}`
  return isFinal(seen.end) ? { text } : { text, problem: text }
}

/** A failure that the upstream reports itself. */
async function saidFailure(side: Side, upstream: Upstream, script: string): Promise<Cell> {
  const seen = await look(side, upstream, script, { patienceMs: 60_000 })
  const text = `${wordsOf(seen)} words, ${seen.end}`
  return saysFailure(seen.end) ? { text } : { text, problem: text }
}

const isAgno = ({ protocol }: Upstream): boolean => protocol === 'agentos'
const isFastA2a = ({ protocol }: Upstream): boolean => protocol === 'a2a'

const same = (act: (side: Side, upstream: Upstream) => Promise<Cell>): Pick<Fault, 'direct' | 'through'> => ({
  direct: (upstream) => act(directly(upstream), upstream),
  through: (upstream, gateway) => act(throughGateway(upstream, gateway), upstream),
})

export const faults: readonly Fault[] = [
  { title: 'client leaves and comes back', ...same(leaveAndResume) },
  {
    title: 'client is killed and comes back after a minute',
    isSlow: true,
    ...same((side, upstream) => leaveAndResume(side, upstream, MINUTE_MS)),
  },
  { title: 'second viewer, from the beginning', ...same(secondViewer) },
  { title: 'viewer after the end', ...same(lateViewer) },
  { title: 'a viewer that does not read, beside a healthy one', ...same(stalledBesideHealthy) },
  {
    title: 'gateway `kill -9` and restart midway',
    direct: () => Promise.resolve({ text: '–' }),
    async through(upstream, gateway) {
      const side = throughGateway(upstream, gateway)
      const first = await look(side, upstream, SCRIPT, { leaveAfter: 5 })
      await gateway.restart()
      const rest = await comeBack(side, upstream, first)
      const { end } = rest ?? { end: 'no end' }
      const words = wordsOf(first, rest)
      const text = `${outputOf(words, WORDS)}, ${end}`
      return saysFailure(end) || (SUCCESS.test(end) && words === WORDS) ? { text } : { text, problem: text }
    },
  },
  { title: 'upstream `kill -9` midway', ...same(killedUpstream) },
  { title: 'upstream hangs after 3 words', ...same(hangs) },
  { title: "model's stream is cut after 3 words", ...same((side, upstream) => crashOfModel(side, upstream, 'cut 3')) },
  {
    title: "model's stream ends cleanly after 3 words, without a finish reason",
    ...same((side, upstream) => crashOfModel(side, upstream, 'silent 3')),
  },
  { title: 'model answers 500', ...same((side, upstream) => saidFailure(side, upstream, 'refuse')) },
  {
    title: 'a tool emits an event that cannot be serialized',
    isOf: isAgno,
    ...same((side, upstream) => crashOfModel(side, upstream, 'tool odd')),
  },
  {
    title: 'worker raises after 3 words',
    isOf: isFastA2a,
    ...same((side, upstream) => saidFailure(side, upstream, 'worker raises')),
  },
  {
    title: 'worker returns after 3 words, without a final event',
    isOf: isFastA2a,
    ...same((side, upstream) => hangs(side, upstream, 'worker leaves')),
  },
  {
    title: 'worker rejects the task',
    isOf: isFastA2a,
    ...same((side, upstream) => saidFailure(side, upstream, 'worker rejects')),
  },
]
