/**
 * The reference model: the invariants, written from docs/invariants.md, docs/events.md and docs/recovery.md and not from code. It
 * shares nothing with the core or a store. It observes every operation of the shared store as it happens, and everything that
 * clients receive.
 */
import type { Op, RunPlan } from './plan.ts'

export class Violation extends Error {
  override readonly name = 'Violation'
  readonly invariant: string

  constructor(invariant: string, message: string) {
    super(`[${invariant}] ${message}`)
    this.invariant = invariant
  }
}

type Status = 'queued' | 'running' | 'paused' | 'completed' | 'failed' | 'cancelled' | 'rejected'

interface Envelope {
  readonly run: string
  readonly index: number
  readonly type: string
  readonly actor?: { readonly run: string }
  readonly data: Readonly<Record<string, unknown>>
}

/** The comparable part of a run as the store has it. */
export interface ClaimedState {
  readonly status: string
  readonly attempt: number
  readonly interruptions?: number
}

/** Statuses that an event may follow, and the status it leads to. */
const MOVES: Readonly<Record<string, readonly [readonly Status[], Status | 'same']>> = {
  'run.started': [['queued', 'running'], 'running'],
  'run.paused': [['running', 'paused'], 'paused'],
  'run.resumed': [['paused'], 'running'],
  'run.released': [['running'], 'same'],
  'stop.requested': [['queued', 'running', 'paused'], 'same'],
  'attempt.discarded': [['running', 'paused'], 'same'],
  'run.completed': [['running'], 'completed'],
  'run.failed': [['queued', 'running', 'paused'], 'failed'],
  'run.cancelled': [['queued', 'running', 'paused'], 'cancelled'],
  'run.rejected': [['queued', 'running'], 'rejected'],
}
const TERMINAL = new Set(['run.completed', 'run.failed', 'run.cancelled', 'run.rejected'])

export class ModelRun {
  readonly id: string
  readonly plan: RunPlan
  readonly lane: string | undefined
  readonly records: string[] = []
  readonly events: Envelope[] = []
  status: Status = 'queued'
  epoch = 0
  holder: string | undefined
  leasedUntil = 0
  attempt = 0
  interruptions = 0
  released = false
  /** Released with its answers, for the next worker to resume. */
  isAnswered = false
  stopAsked = false
  /** Questions that the run waits for. */
  waiting = new Set<string>()
  /** Answers that clients gave, by question. */
  readonly given = new Map<string, Set<string>>()
  /** How often each piece of work was started since its results were last dropped, by key. */
  executions = new Map<string, number>()
  decisions = new Map<string, number>()
  /** Index at which the valid ledger starts. */
  eraFrom = 0
  finishedAt = 0

  constructor(id: string, plan: RunPlan, lane: string | undefined) {
    this.id = id
    this.plan = plan
    this.lane = lane
  }

  get isFinished(): boolean {
    return this.status !== 'queued' && this.status !== 'running' && this.status !== 'paused'
  }
}

export class Model {
  readonly runs = new Map<string, ModelRun>()
  /** The run of an idempotency key. */
  readonly #keys = new Map<string, string>()
  events = 0
  /** This world has no faults: no run is interrupted in it. */
  isFaultless = false

  /** The first violation: later ones may be its consequence. */
  first: Violation | undefined

  violation(invariant: string, message: string): Violation {
    const violation = new Violation(invariant, message)
    this.first ??= violation
    return violation
  }

  of(id: string): ModelRun {
    const run = this.runs.get(id)
    if (run === undefined) throw this.violation('LOG-2', `run ${id} was shown, and the store does not have it`)
    return run
  }

  created(id: string, plan: RunPlan, lane: string | undefined, key: string | undefined, record: string): void {
    if (this.runs.has(id)) throw this.violation('LOG-1', `run ${id} was created twice`)
    if (key !== undefined) {
      const known = this.#keys.get(key)
      if (known !== undefined)
        throw this.violation('RUN-4', `key ${key} made run ${id} although it stands for ${known}`)
      this.#keys.set(key, id)
    }
    const run = new ModelRun(id, plan, lane)
    this.runs.set(id, run)
    this.#add(run, record)
  }

  claimed(id: string, epoch: number, owner: string, now: number, ttlMs: number): void {
    const run = this.of(id)
    if (epoch !== run.epoch + 1)
      throw this.violation('LOG-4', `run ${id} was claimed with epoch ${epoch} after epoch ${run.epoch}`)
    if (run.isFinished) throw this.violation('LOG-3', `run ${id} was claimed although it is ${run.status}`)
    if (run.holder !== undefined && now < run.leasedUntil)
      throw this.violation('LOG-4', `run ${id} was claimed by ${owner} while ${run.holder} had its lease`)
    run.epoch = epoch
    run.holder = owner
    run.leasedUntil = now + ttlMs
  }

  renewed(id: string, owner: string, now: number, ttlMs: number): void {
    const run = this.of(id)
    if (run.holder === owner) run.leasedUntil = now + ttlMs
    else throw this.violation('LOG-4', `run ${id} was renewed for ${owner}, and ${run.holder ?? 'nobody'} holds it`)
  }

  released(id: string, epoch: number): void {
    const run = this.runs.get(id)
    if (run?.epoch === epoch) run.holder = undefined
  }

  appended(
    id: string,
    epoch: number,
    first: number,
    records: readonly string[],
    changes: readonly (ClaimedState | undefined)[],
  ): void {
    const run = this.of(id)
    if (epoch !== run.epoch)
      throw this.violation(
        'LOG-4',
        `run ${id}: an append of epoch ${epoch} was accepted, and the last claim has ${run.epoch}`,
      )
    if (first !== run.records.length)
      throw this.violation(
        'LOG-1',
        `run ${id}: records from ${first} on were accepted after ${run.records.length} records`,
      )
    records.forEach((record, at) => {
      if (run.isFinished)
        throw this.violation('LOG-3', `run ${id} is ${run.status}, and event ${first + at} was accepted`)
      this.#add(run, record)
      const change = changes[at]
      if (change !== undefined) this.#compare(run, change)
    })
    if (run.isFinished || run.status === 'paused') run.holder = undefined
  }

  #compare(run: ModelRun, { status, attempt, interruptions = 0 }: ClaimedState): void {
    const { id } = run
    if (status !== run.status)
      throw this.violation('RUN-3', `run ${id} is kept as ${status}, and its log says ${run.status}`)
    if (attempt !== run.attempt || interruptions !== run.interruptions)
      throw this.violation(
        'RUN-6',
        `run ${id} is kept with attempt ${attempt} and ${interruptions} interruptions, its log has ${run.attempt} and ${run.interruptions}`,
      )
  }

  #add(run: ModelRun, record: string): void {
    const index = run.records.length
    const event = envelopeOf(record, index)
    if (event?.index !== index || event.run !== run.id)
      throw this.violation('LOG-1', `run ${run.id}: record ${index} is ${JSON.stringify(record)}`)
    run.records.push(record)
    run.events.push(event)
    this.events++
    if (index === 0) {
      if (event.type !== 'run.created') throw this.violation('LOG-1', `run ${run.id} begins with ${event.type}`)
      return
    }
    const move = MOVES[event.type]
    if (move !== undefined) this.#move(run, event, move)
  }

  #move(run: ModelRun, event: Envelope, [from, to]: readonly [readonly Status[], Status | 'same']): void {
    if (!from.includes(run.status))
      throw this.violation(
        'LOG-3',
        `run ${run.id}: ${event.type} (event ${event.index}) follows the status ${run.status}`,
      )
    const { data } = event
    switch (event.type) {
      case 'run.started':
        if (run.status === 'running' && !run.released) run.interruptions++
        if (run.released && data['suspect'] !== undefined)
          throw this.violation('RUN-6', `run ${run.id} is suspected of a crash, and its last worker released it`)
        if (data['attempt'] !== run.attempt + 1)
          throw this.violation(
            'RUN-6',
            `run ${run.id}: attempt ${String(data['attempt'])} follows attempt ${run.attempt}`,
          )
        if (run.attempt > 0 && run.plan.recovery === 'fail' && !run.isAnswered)
          throw this.violation('RUN-1', `run ${run.id} is started again, and its component does not recover`)
        run.attempt++
        run.released = false
        run.isAnswered = false
        this.#checkLane(run)
        break
      case 'run.released':
        run.released = true
        if (data['reason'] === 'store_unavailable') run.interruptions++
        run.isAnswered = data['reason'] === 'answered'
        break
      case 'run.paused':
        this.#paused(run, data['questions'] as readonly { readonly id: string; readonly kind: string }[])
        break
      case 'run.resumed':
        this.#resumed(run, data['answers'] as Readonly<Record<string, unknown>>)
        break
      case 'attempt.discarded':
        if (data['ledger'] === 'dropped') {
          run.eraFrom = event.index
          run.executions = new Map()
          run.decisions = new Map()
        }
        break
      case 'run.cancelled':
        if (!run.stopAsked) throw this.violation('RUN-2', `run ${run.id} was cancelled, and nobody asked for it`)
        break
      default:
    }
    if (to !== 'same') run.status = to
    if (TERMINAL.has(event.type)) this.#ended(run, event)
  }

  #checkLane(run: ModelRun): void {
    if (run.lane === undefined) return
    for (const other of this.runs.values())
      if (other !== run && other.lane === run.lane && (other.status === 'running' || other.status === 'paused'))
        throw this.violation('RUN-2', `run ${run.id} was started while ${other.id} of its session is ${other.status}`)
  }

  #paused(run: ModelRun, questions: readonly { readonly id: string; readonly kind: string }[]): void {
    const diverged = questions.find(({ kind }) => kind === 'diverged')
    if (diverged !== undefined)
      throw this.violation('RUN-5', `run ${run.id} is said to have diverged, and its code has not changed`)
    run.waiting = new Set(questions.map(({ id }) => id))
  }

  #resumed(run: ModelRun, answers: Readonly<Record<string, unknown>>): void {
    for (const [question, answer] of Object.entries(answers)) {
      if (!run.waiting.has(question))
        throw this.violation('RUN-5', `run ${run.id}: an answer to ${question} was taken, which it does not wait for`)
      if (run.given.get(question)?.has(JSON.stringify(answer)) !== true)
        throw this.violation(
          'RUN-5',
          `run ${run.id}: ${question} was answered with ${JSON.stringify(answer)}, which nobody said`,
        )
      if (answer === 'retry') {
        const key = question.replace(/^uncertain:/, '').replace(/~\d+$/, '')
        run.decisions.set(key, (run.decisions.get(key) ?? 0) + 1)
      }
    }
    run.waiting = new Set()
    run.released = false
  }

  /** A client is about to answer a question. */
  offered(id: string, question: string, answer: unknown): void {
    const { given } = this.of(id)
    given.set(question, (given.get(question) ?? new Set()).add(JSON.stringify(answer)))
  }

  stopped(id: string): void {
    const run = this.runs.get(id)
    if (run !== undefined) run.stopAsked = true
  }

  /** A tool of a run is about to have its effect, on a node that claims under this name. */
  effect(id: string, key: string, isIdempotent: boolean, owner: string | undefined): void {
    const run = this.of(id)
    // A node that lost the run without noticing may still do what it noted before. Nothing of it can be recorded.
    const isCurrent = run.holder === owner
    const from = isCurrent ? run.eraFrom : 0
    const has = (wanted: string): boolean =>
      run.events.some(({ type, data, index }) => index >= from && type === wanted && data['key'] === key)
    if (!has('tool.called'))
      throw this.violation('LOG-2', `run ${id}: tool ${key} has its effect before the log says that it begins`)
    if (!isCurrent) return
    if (has('tool.completed'))
      throw this.violation('RUN-5', `run ${id}: tool ${key} is done again although the log has its result`)
    const times = (run.executions.get(key) ?? 0) + 1
    run.executions.set(key, times)
    if (!isIdempotent && times > 1 + (run.decisions.get(key) ?? 0))
      throw this.violation('RUN-5', `run ${id}: tool ${key} is not idempotent and was executed ${times} times`)
  }

  /** A step is about to be done, on a node that claims under this name. */
  stepping(id: string, name: string, owner: string | undefined): void {
    const run = this.of(id)
    if (run.holder !== owner) return
    const isDone = run.events.some(
      ({ type, data, index }) => index >= run.eraFrom && type === 'step.completed' && data['name'] === name,
    )
    if (isDone) throw this.violation('RUN-5', `run ${id}: step ${name} is done again although the log has its result`)
  }

  /** A piece of work gave its caller a result. */
  result(id: string, kind: 'tool' | 'step', name: string, value: unknown): void {
    const { of, nonce } = value as { readonly of: string; readonly nonce: number }
    if (of !== name) throw this.violation('RUN-5', `run ${id}: ${kind} ${name} got the result of ${of}`)
    const isRecorded = this.of(id).events.some(
      ({ type, data }) =>
        type === `${kind}.completed` && (data['output'] as { readonly nonce?: number } | undefined)?.nonce === nonce,
    )
    if (!isRecorded)
      throw this.violation('LOG-2', `run ${id}: ${kind} ${name} returned before its result was in the log`)
  }

  answered(id: string, prompt: string, value: unknown): void {
    if (typeof value !== 'string' || !value.startsWith(`${prompt}!`))
      throw this.violation('RUN-5', `run ${id}: the question ${prompt} got the answer ${JSON.stringify(value)}`)
  }

  /** A reader's view of a log. */
  shown(id: string, first: number, text: string, count: number, isClosed: boolean): void {
    const run = this.of(id)
    if (first + count > run.records.length)
      throw this.violation(
        'LOG-2',
        `run ${id}: events up to ${first + count - 1} are shown, and ${run.records.length} are durable`,
      )
    const expected = count === 1 ? run.records[first]! : run.records.slice(first, first + count).join('')
    if (text !== expected)
      throw this.violation(
        'LOG-5',
        `run ${id}: after event ${first - 1} somebody is shown ${JSON.stringify(text.slice(0, 300))} instead of ${JSON.stringify(expected.slice(0, 300))}`,
      )
    if (isClosed !== (run.isFinished && first + count === run.records.length))
      throw this.violation('LOG-3', `run ${id}: a slice up to ${first + count - 1} says closed: ${isClosed}`)
  }

  #ended(run: ModelRun, event: Envelope): void {
    const { script, recovery } = run.plan
    const natural = script.at(-1)?.kind
    const error = event.data['error'] as { readonly code: string; readonly message: string } | undefined
    const lie = (why: string): never => {
      throw this.violation(
        'RUN-3',
        `run ${run.id} (${recovery}, ${natural}) ended as ${event.type} ${JSON.stringify(error ?? event.data['reason'] ?? '')}: ${why}`,
      )
    }
    switch (event.type) {
      case 'run.completed':
        if (natural === 'throw' || natural === 'reject' || natural === 'unserializable')
          lie('its agent does not complete')
        this.#checkTexts(run)
        return
      case 'run.rejected':
        if (natural !== 'reject') lie('its agent does not reject')
        return
      case 'run.failed':
        return this.#checkFailure(run, natural, error!, lie)
      default:
    }
  }

  #checkFailure(
    run: ModelRun,
    natural: Op['kind'] | undefined,
    error: { readonly code: string; readonly message: string },
    lie: (why: string) => never,
  ): void {
    if (error.code === 'interrupted') {
      if (run.epoch < 2) lie('it was claimed only once')
      if (this.isFaultless) lie('nothing interrupted it')
      if (run.plan.recovery === 'fail') return
      // Only a run that keeps making no progress may be given up, and not before its attempts are used up.
      if (run.attempt < 3) lie(`it had only ${run.attempt} attempts`)
      return
    }
    if (natural === 'unserializable') {
      if (!error.message.includes('data') || !error.message.includes('custom.emitted'))
        throw this.violation('EVT-1', `run ${run.id} failed, and does not say which event and value: ${error.message}`)
      return
    }
    if (natural !== 'throw') lie('its agent does not fail')
    if (error.code === 'diverged' || error.code === 'internal') lie('its agent throws something else')
  }

  /** The output without retractions is the script's: each text once, in order, and none of failed work. */
  #checkTexts(run: ModelRun): void {
    const standing: string[] = []
    const retracted = retractedIndexes(run.events)
    for (const { type, data, index } of run.events)
      if (type === 'text.delta' && !retracted.has(index)) standing.push(data['text'] as string)
    const found = new Map<string, string[]>()
    for (const text of standing) {
      const n = text.slice(0, text.indexOf('.'))
      const texts = found.get(n)
      if (texts === undefined) found.set(n, [text])
      else texts.push(text)
    }
    for (const [n, texts] of expectedTexts(run.plan.script)) {
      const got = found.get(n)?.join('') ?? ''
      if (got !== texts.join(''))
        throw this.violation(
          'RUN-5',
          `run ${run.id} completed, and of its text ${n} stands ${JSON.stringify(got)} instead of ${JSON.stringify(texts.join(''))}`,
        )
      found.delete(n)
    }
    if (found.size > 0)
      throw this.violation(
        'RUN-5',
        `run ${run.id} completed with text that should not stand: ${JSON.stringify([...found.values()])}`,
      )
  }
}

/** Most records by far: they are taken apart without parsing JSON. */
const TEXT =
  /^id: (\d+)\nevent: text\.delta\ndata: \{"run":"([^"\\]+)","index":(\d+),"time":"[^"\\]+","type":"text\.delta","data":\{"text":"([^"\\]*)"\}\}\n\n$/

/** The event of a record, if it has three lines and a blank one, with the expected index. */
function envelopeOf(record: string, index: number): Envelope | undefined {
  const text = TEXT.exec(record)
  if (text !== null)
    return Number(text[1]) === index
      ? { run: text[2]!, index: Number(text[3]), type: 'text.delta', data: { text: text[4]! } }
      : undefined
  const [idLine, typeLine, dataLine, blank, end] = record.split('\n')
  const event = JSON.parse(dataLine!.slice(6)) as Envelope
  const isWhole = idLine === `id: ${index}` && typeLine === `event: ${event.type}` && blank === '' && end === ''
  return isWhole ? event : undefined
}

/** By docs/events.md: `all` is everyone's output, `own` that of the event's actor, `below` also that of those it called. */
function retractedIndexes(events: readonly Envelope[]): Set<number> {
  const retracted = new Set<number>()
  for (const { type, data, index, actor } of events) {
    if (type !== 'attempt.discarded') continue
    const own = actor?.run ?? ''
    for (let at = data['from'] as number; at < index; at++) {
      const event = events[at]!
      const whose = event.actor?.run ?? ''
      const isBelow = own === '' ? true : whose.startsWith(`${own}/`)
      if (data['scope'] === 'all' || whose === own || (data['scope'] === 'below' && isBelow)) retracted.add(event.index)
    }
  }
  return retracted
}

/** Texts by number, without retracted ones, after the run has completed. */
export function expectedTexts(script: readonly Op[]): Map<string, readonly string[]> {
  const expected = new Map<string, readonly string[]>()
  const visit = (ops: readonly Op[]): void => {
    for (const op of ops) {
      if (op.kind === 'text') expected.set(String(op.n), textsOf(op.n, op.count))
      else if (op.kind === 'child' && !op.fails) visit(op.ops)
      else if (op.kind === 'parallel') for (const branch of op.branches) visit(branch)
    }
  }
  visit(script)
  return expected
}

const texts = new Map<number, string[]>()

/** Agents of all seeds emit the same texts, so they are built once. */
export function textsOf(n: number, count: number): readonly string[] {
  let known = texts.get(n)
  if (known === undefined) texts.set(n, (known = []))
  while (known.length < count) known.push(`${n}.${known.length};`)
  return known.length === count ? known : known.slice(0, count)
}
