/** Judges a run of the matrix by its log, its subscriber's stream and its side effects. */
import { assertSeenIsInLog, checkedEnd, type Recorded } from '../../support/checker.ts'
import type { Watched } from './campaign.ts'
import { asks } from './cases.ts'
import type { Note } from './scene.ts'

/** A log, and what its run did, by name and life of the server. */
export interface Evidence {
  readonly run: Watched
  readonly records: readonly ActedRecord[]
  readonly effects: readonly Effect[]
  /** Work that was cut off by a kill, once for each time. */
  readonly cut: readonly string[]
}

interface ActedRecord extends Recorded {
  readonly actor?: { readonly run: string }
}

type Effect = Extract<Note, { did: string }>

export function evidenceOf(run: Watched, log: Buffer, journal: readonly Note[]): Evidence {
  const records = checkedEnd(run.run, log) as ActedRecord[]
  for (const { after, bytes } of run.sightings) assertSeenIsInLog(run.run, bytes, log, after)
  const notes = journal.filter(({ component }) => component === run.id)
  return {
    run,
    records,
    effects: notes.filter((note) => 'did' in note),
    cut: notes.flatMap((note) => ('cut' in note ? note.cut : [])),
  }
}

/** The problem of a run, if any. `whole`: the same work without a kill. */
export function complaintsOf(evidence: Evidence, whole: Evidence): string[] {
  const { run } = evidence
  const complaints = [...keysDiffer(evidence), ...outcomeOf(evidence, whole)]
  return complaints.map((complaint) => `${run.id} (${run.run}): ${complaint}`)
}

function outcomeOf(evidence: Evidence, whole: Evidence): string[] {
  const { run } = evidence
  if (run.recovery === 'fail' && !asks(run)) return [...endsWith(evidence, 'interrupted'), ...nothingAfter(evidence, 1)]
  if (run.phase === 'uncertain' && run.recovery === 'resume') {
    if (run.uncertain === 'fail' || run.decision === 'fail')
      return [...endsWith(evidence, 'uncertain_tool'), ...isDone(evidence, { pay: 1 }), ...questions(evidence)]
    if (run.decision === 'result')
      return [...sameStory(evidence, whole), ...sameEffects(evidence, whole, []), ...questions(evidence)]
    return [...sameStory(evidence, whole), ...sameEffects(evidence, whole, evidence.cut), ...questions(evidence)]
  }
  const again = run.recovery === 'retry' && !asks(run)
  if (!again)
    return [...sameStory(evidence, whole), ...sameEffects(evidence, whole, evidence.cut), ...noDiscard(evidence)]
  return [...sameStory(evidence, whole), ...allAgain(evidence, whole)]
}

function endsWith({ records }: Evidence, code: string): string[] {
  const { type, data } = records.at(-1)!
  const found = (data['error'] as { code?: string } | undefined)?.code
  return type === 'run.failed' && found === code ? [] : [`ended with ${type} ${found ?? ''} and not with ${code}`]
}

/** With that recovery declared, each interruption of an uncertain call causes one question; otherwise none. */
function questions({ run, records }: Evidence): string[] {
  const asked = records.filter(({ type, data }) => {
    const [question] = type === 'run.paused' ? (data['questions'] as { kind: string }[]) : []
    return question?.kind === 'uncertain'
  }).length
  const expected = run.uncertain === 'ask' ? run.kills : 0
  return asked === expected ? [] : [`somebody was asked ${asked} times about the uncertain call, not ${expected}`]
}

function nothingAfter({ effects }: Evidence, life: number): string[] {
  const late = effects.filter((effect) => effect.life > life)
  return late.map(({ did }) => `did ${did} although it is not to be driven again`)
}

/** The run fails: no work is repeated, and none follows. */
function isDone({ effects }: Evidence, expected: Readonly<Record<string, number>>): string[] {
  const counts = countsOf(effects)
  return Object.entries(expected).flatMap(([name, times]) =>
    counts.get(name) === times ? [] : [`did ${name} ${counts.get(name) ?? 0} times, not ${times}`],
  )
}

/** Finished work must be done once; interrupted work once more for each interruption. */
function sameEffects({ effects }: Evidence, whole: Evidence, repeated: readonly string[]): string[] {
  return differences(countsOf(effects), countsOf([...whole.effects, ...repeated.map((did) => ({ did }))]))
}

/** The last attempt did everything, and the ones before are retracted with all that they recorded. */
function allAgain({ run, records, effects }: Evidence, whole: Evidence): string[] {
  const last = effects.filter(({ life }) => life === run.kills + 1)
  const retracted = records.filter(({ type, data }) => type === 'attempt.discarded' && data['scope'] === 'all')
  return [
    ...differences(countsOf(last), countsOf(whole.effects)),
    ...(retracted.length === run.kills ? [] : [`withdrew ${retracted.length} attempts, not ${run.kills}`]),
  ]
}

function noDiscard({ records }: Evidence): string[] {
  const discarded = records.filter(({ type }) => type === 'attempt.discarded')
  return discarded.map(({ index }) => `withdrew what it said, at ${index}, although it says the same again`)
}

/** Every try of a tool call has the same key. */
function keysDiffer({ effects }: Evidence): string[] {
  const keys = Map.groupBy(
    effects.filter(({ key }) => key !== undefined),
    ({ did }) => did,
  )
  return [...keys].flatMap(([name, tries]) => {
    const different = new Set(tries.map(({ key }) => key))
    return different.size === 1 ? [] : [`tool ${name} had the keys ${[...different].join(', ')}`]
  })
}

function sameStory(evidence: Evidence, whole: Evidence): string[] {
  return differences(countsOf(storyOf(evidence)), countsOf(storyOf(whole)))
}

/** The final state: each actor's text, the result of every step, tool and actor, and the outcome of the run. */
function storyOf({ run, records }: Evidence): { readonly did: string }[] {
  const output = new Map<string, string>()
  const results: string[] = []
  for (const record of records) {
    const { type, data } = record
    const who = (record.actor?.run ?? run.run).replace(run.run, '')
    if (type === 'text.delta' && !isRetracted(record, records, 'output'))
      output.set(who, `${output.get(who) ?? ''}${String(data['text'])}`)
    if (/^(?:step|tool|actor|run)\.(?:completed|failed)$/.test(type) && !isRetracted(record, records, 'ledger'))
      results.push([type, who, data['key'] ?? data['name'], toldOf(data, run.run)].join(' '))
  }
  return [...[...output].map(([who, text]) => `${who} says ${text}`), ...results].map((did) => ({ did }))
}

function toldOf(data: Recorded['data'], run: string): string {
  return JSON.stringify(data['output'] ?? data['error'] ?? null).replaceAll(run, '')
}

/** Retracted by a later event: as output by any that covers its actor, as a result only by one that drops them. */
function isRetracted({ index, actor }: ActedRecord, records: readonly ActedRecord[], as: 'output' | 'ledger'): boolean {
  const own = actor?.run ?? ''
  return records.some((later) => {
    if (later.type !== 'attempt.discarded' || index < (later.data['from'] as number) || index > later.index)
      return false
    if (as === 'ledger' && later.data['ledger'] !== 'dropped') return false
    const whose = later.actor?.run ?? ''
    const { scope } = later.data
    return scope === 'all' || own === whose || (scope === 'below' && own.startsWith(`${whose}/`))
  })
}

function countsOf(things: readonly { readonly did: string }[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { did } of things) counts.set(did, (counts.get(did) ?? 0) + 1)
  return counts
}

function differences(found: ReadonlyMap<string, number>, expected: ReadonlyMap<string, number>): string[] {
  return [...new Set([...found.keys(), ...expected.keys()])].flatMap((thing) => {
    const [times = 0, wanted = 0] = [found.get(thing), expected.get(thing)]
    return times === wanted ? [] : [`${times} times instead of ${wanted}: ${thing}`]
  })
}
