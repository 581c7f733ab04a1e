/** Judges what clients saw by the bytes in the store, read without code of the store. */
import { checkedEnd, numbersIn, type Recorded, standingTexts } from '../../support/checker.ts'
import type { Followed } from './traffic.ts'

export interface Verdict {
  /** Last events, by type and failure code. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Runs that continued after the death of their node and were completed. */
  readonly recovered: number
  /** Records of all logs, each compared with what its client got. */
  readonly records: number
}

/** `logs`: the bytes of each run's log, by its id. */
export function judge(logs: ReadonlyMap<string, Buffer>, runs: readonly Followed[]): Verdict {
  const ids = runs.map(({ id }) => id).toSorted()
  if (JSON.stringify([...logs.keys()].toSorted()) !== JSON.stringify(ids))
    throw new Error(`the store has ${logs.size} runs, and ${ids.length} were started`)
  const outcomes: Record<string, number> = {}
  let recovered = 0
  let compared = 0
  const queues = new Map<string, Recorded[][]>()
  for (const run of runs) {
    const records = checkedEnd(run.id, logs.get(run.id)!)
    expectSeen(run, records)
    compared += records.length
    expectHonestEnd(run, records)
    const last = records.at(-1)!
    const outcome = last.type === 'run.failed' ? `failed: ${failureOf(last)}` : last.type
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    if (last.type === 'run.completed' && startsOf(records) > 1) recovered++
    if (run.session !== undefined) queues.set(run.session, [...(queues.get(run.session) ?? []), records])
  }
  for (const [session, logsOfSession] of queues) expectOneAtATime(session, logsOfSession)
  return { outcomes, recovered, records: compared }
}

/** Each event once, in order, all of them, and just as the log has them (LOG-1, LOG-5). */
function expectSeen({ id, seen }: Followed, records: readonly Recorded[]): void {
  if (seen.length !== records.length)
    throw new Error(`run ${id} has ${records.length} events, its client saw ${seen.length}`)
  const place = records.findIndex((record, index) => JSON.stringify(record) !== JSON.stringify(seen[index]))
  if (place >= 0)
    throw new Error(
      `run ${id}: a client saw ${JSON.stringify(seen[place])}, the log has ${JSON.stringify(records[place])}`,
    )
}

function expectHonestEnd({ id, component, script }: Followed, records: readonly Recorded[]): void {
  const last = records.at(-1)!
  const complain = (what: string): never => {
    throw new Error(`run ${id} (${component}: ${script.input}) ${what}; its log ends with ${JSON.stringify(last)}`)
  }
  const interrupted = last.type === 'run.failed' && failureOf(last) === 'interrupted'
  if (interrupted && component === 'lab') return
  if (script.hangs) return last.type === 'run.cancelled' ? undefined : complain('was stopped, and ended otherwise')
  if (last.type !== 'run.completed') complain('had to be completed')
  const numbers = numbersIn(standingTexts(records))
  if (numbers.length !== script.texts || numbers.some((number, place) => number !== place))
    complain(`says ${numbers.join(' ')}`)
  if (component === 'lab-resume' || component === 'lab-queue') expectWorkDoneOnce(id, records)
}

/** A step or tool with a result in the log is not paid for twice. */
function expectWorkDoneOnce(id: string, records: readonly Recorded[]): void {
  const done = records.filter(({ type }) => /^(step|tool)\.completed$/.test(type)).map(({ data }) => data['key'])
  if (new Set(done).size !== done.length) throw new Error(`run ${id} did some work twice: ${done.join(', ')}`)
}

/** In a session that enqueues, no run starts before the previous one has ended, on any node. */
function expectOneAtATime(session: string, logs: readonly (readonly Recorded[])[]): void {
  const spans = logs.map((records) => {
    const begin = timeOf(records.find(({ type }) => type === 'run.started') ?? records.at(-1)!)
    return { run: (records[0] as Recorded & { run: string }).run, begin, end: timeOf(records.at(-1)!) }
  })
  spans.sort((a, b) => a.begin - b.begin)
  for (const [place, span] of spans.entries()) {
    const before = spans[place - 1]
    if (before !== undefined && span.begin < before.end)
      throw new Error(`${session}: run ${span.run} began before run ${before.run} ended`)
  }
}

function timeOf(record: Recorded): number {
  return Date.parse((record as Recorded & { time: string }).time)
}

function startsOf(records: readonly Recorded[]): number {
  return records.filter(({ type }) => type === 'run.started').length
}

function failureOf(record: Recorded): string {
  return (record.data['error'] as { code: string }).code
}
