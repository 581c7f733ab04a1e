/** Judges a campaign: every run that was accepted, against its log and everything that clients saw of it. */
import type { RunShape } from '../../../src/protocols/native/wire/shapes.ts'
import { assertSeenIsInLog, checkedEnd, numbersIn, type Recorded, standingTexts } from '../../support/checker.ts'
import { call, getRun, readLog, type Target } from '../../support/http.ts'
import type { AcceptedRun } from './campaign.ts'

export interface Verdict {
  readonly logs: ReadonlyMap<string, Buffer>
  /** Last events, by type and failure code. */
  readonly outcomes: Readonly<Record<string, number>>
  /** Attempts that were retracted. */
  readonly discarded: number
  /** Runs that continued in a later life and were completed. */
  readonly recovered: number
  /** Records of all logs, each of them checked. */
  readonly records: number
}

export async function judge(target: Target, runs: readonly AcceptedRun[]): Promise<Verdict> {
  const logs = new Map<string, Buffer>()
  const outcomes: Record<string, number> = {}
  let discarded = 0
  let recovered = 0
  let checked = 0
  for (const run of runs) {
    const log = await readLog(target, run.id)
    const records = checkedEnd(run.id, log)
    checked += records.length
    const last = records.at(-1)!
    for (const { after, bytes } of run.sightings) assertSeenIsInLog(run.id, bytes, log, after)
    expectSameOutcome(await getRun(target, run.id), records)
    expectHonestEnd(run, records, last)
    logs.set(run.id, log)
    const outcome = last.type === 'run.failed' ? `failed: ${failureOf(last)}` : last.type
    outcomes[outcome] = (outcomes[outcome] ?? 0) + 1
    discarded += records.filter(({ type }) => type === 'attempt.discarded').length
    if (last.type === 'run.completed' && attemptsOf(records) > 1) recovered++
  }
  await expectListed(target, runs)
  return { logs, outcomes, discarded, recovered, records: checked }
}

/** The run as the server describes it is the run that its log describes (RUN-3). */
function expectSameOutcome(described: RunShape, records: readonly Recorded[]): void {
  const last = records.at(-1)!
  const reported = `run.${described.status}`
  if (reported !== last.type)
    throw new Error(`run ${described.id} is called ${described.status}, and its log ends with ${last.type}`)
  if (described.events !== records.length)
    throw new Error(`run ${described.id} claims ${described.events} events and has ${records.length}`)
}

function expectHonestEnd(run: AcceptedRun, records: readonly Recorded[], last: Recorded): void {
  const { id, component, script } = run
  const complain = (what: string): never => {
    throw new Error(`run ${id} (${component}: ${script.input}) ${what}; its log ends with ${JSON.stringify(last)}`)
  }
  if (run.stopped && last.type !== 'run.cancelled') complain('was stopped, and ended otherwise')
  for (const answer of run.answers)
    if (!wasAnswered(records, answer)) complain(`lost the answer ${JSON.stringify(answer)}`)
  switch (last.type) {
    case 'run.completed': {
      if (script.hangs || script.failure || script.rejected) complain('cannot have been completed')
      const numbers = numbersIn(standingTexts(records))
      if (numbers.length !== script.texts || numbers.some((number, place) => number !== place))
        complain(`says ${numbers.join(' ')}`)
      if (component === 'lab-resume') expectWorkDoneOnce(run, records)
      return
    }
    case 'run.failed': {
      const code = failureOf(last)
      const mayBeInterrupted = component === 'lab' || attemptsOf(records) >= 3
      if (code !== script.failure && !(code === 'interrupted' && mayBeInterrupted)) complain('has no reason to fail so')
      return
    }
    case 'run.rejected':
      if (!script.rejected) complain('was not to be rejected')
      return
    default:
      if (!script.hangs) complain('was not to be stopped')
  }
}

function wasAnswered(records: readonly Recorded[], answer: unknown): boolean {
  const given = JSON.stringify(answer)
  return records.some(({ type, data }) => {
    return (
      type === 'run.resumed' &&
      Object.values(data['answers'] as object).some((value) => JSON.stringify(value) === given)
    )
  })
}

/** A step or tool with a result in the log is not paid for twice. */
function expectWorkDoneOnce({ id }: AcceptedRun, records: readonly Recorded[]): void {
  const done = records
    .filter(({ type }) => /^(step|tool)\.(completed|failed)$/.test(type))
    .map(({ data }) => data['key'])
  if (new Set(done).size !== done.length) throw new Error(`run ${id} did some work twice: ${done.join(', ')}`)
}

function attemptsOf(records: readonly Recorded[]): number {
  return records.filter(({ type }) => type === 'run.started').length
}

function failureOf(record: Recorded): string {
  return (record.data['error'] as { code: string }).code
}

/** The listing has every accepted run, and none besides: a start that was repeated is still one run (RUN-4). */
async function expectListed(target: Target, runs: readonly AcceptedRun[]): Promise<void> {
  const listed: string[] = []
  for (let cursor: string | undefined = ''; cursor !== undefined;) {
    const path = `/runs?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`
    const page: { runs: RunShape[]; cursor?: string } = (
      await call<{ runs: RunShape[]; cursor?: string }>(target, 'GET', path)
    ).body
    listed.push(...page.runs.map(({ id }) => id))
    cursor = page.cursor
  }
  const expected = runs.map(({ id }) => id).toSorted()
  const found = listed.toSorted()
  if (JSON.stringify(found) === JSON.stringify(expected)) return
  const missing = expected.filter((id) => !found.includes(id))
  const strange = found.filter((id) => !expected.includes(id))
  throw new Error(
    `of ${expected.length} runs the listing lacks ${missing.join(', ') || 'none'} and adds ${strange.join(', ') || 'none'}`,
  )
}
