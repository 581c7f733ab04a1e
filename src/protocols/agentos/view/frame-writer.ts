/** Collects the numbered frames of one log event, and the state after them. */
import type { LoggedEvent } from '../../../core/model/event.ts'
import { families, type Family } from '../wire/families.ts'
import { rootOf, secondsOf, shownIdOf, type Speaker, type State, type Step } from './state.ts'

export interface Frame {
  /** `event_index`, also the frame's id. */
  readonly index: number
  readonly event: string
  /** Built lazily: a fold that only needs the state does not need it. */
  readonly data: Readonly<Record<string, unknown>>
  /** `data` as JSON. */
  readonly json: string
  /** Index of its log event. */
  readonly log: number
  /** The run pauses after this frame. */
  readonly pauses: boolean
}

type Fields = object
/** A function is evaluated when the frame is read. */
type LazyFields = Fields | (() => Fields)

export class FrameWriter {
  readonly event: LoggedEvent
  readonly frames: Frame[] = []
  state: State
  /** Frames of derived events are suppressed: the upstream's own event is sent instead. */
  isMuted = false

  #next: number

  constructor(state: State, event: LoggedEvent) {
    this.state = state
    this.event = event
    this.#next = state.next
  }

  /** The state after the event. */
  end(): State {
    return { ...this.state, next: this.#next, last: this.event.index }
  }

  /** Stores the new state of a speaker. */
  keep(speaker: Speaker): Speaker {
    this.state = { ...this.state, speakers: this.state.speakers.with(speaker) }
    return speaker
  }

  keepStep(step: Step): void {
    const steps = new Map(this.state.steps)
    steps.set(step.id, step)
    this.state = { ...this.state, steps }
  }

  /** An event that agents and teams share. A workflow's own content is written as that of an agent with its name. */
  writeShared(speaker: Speaker, name: string, fields: Fields = {}): void {
    const family = sharedFamily(speaker)
    const { state } = this
    this.#put(family.prefix + name, () => ({
      ...headOf(state, family, family.prefix + name, speaker, this.event.time),
      ...fields,
    }))
  }

  /** An event of the speaker's family, by its full name. */
  write(speaker: Speaker, name: string, fields: LazyFields = {}, pauses = false): void {
    const { state } = this
    const build = (): Fields => ({
      ...headOf(state, families[speaker.kind], name, speaker, this.event.time),
      ...valueOf(fields),
    })
    this.#put(name, build, pauses)
  }

  /** A workflow event about a step. */
  writeStep(step: Step, name: string, fields: Fields = {}): void {
    const { state } = this
    this.#put(name, () => ({
      ...workflowHead(state, name, state.speakers.get(step.workflow) ?? rootOf(state), this.event.time, step),
      step_name: step.name,
      step_index: step.index,
      ...fields,
    }))
  }

  /** A custom event. Default name: `message`. */
  custom(speaker: Speaker, name: string, value: unknown, fields: Fields = {}): void {
    const { state } = this
    this.#put(name === '' ? 'message' : 'CustomEvent', () => ({
      ...headOf(state, families[speaker.kind], 'CustomEvent', speaker, this.event.time),
      name,
      ...(value !== undefined && { value }),
      ...fields,
    }))
  }

  /** An event of an upstream, with its own fields. */
  relay(name: string, fields: LazyFields, pauses = false): void {
    this.#put(name, () => valueOf(fields), pauses)
  }

  #put(event: string, build: () => Fields, pauses = false): void {
    if (this.isMuted || (!this.state.allEvents && !isContent(event))) return
    this.frames.push(new LazyFrame(this.#next++, event, this.event.index, pauses, build))
  }
}

/** The fields with which the data of every frame begins. */
export function headOf(state: State, family: Family, event: string, speaker: Speaker, time: string): Fields {
  if (family.kind === 'workflow') return workflowHead(state, event, speaker, time)
  const { run, component, name, parent, depth } = speaker
  return {
    created_at: secondsOf(time),
    event,
    [family.idField]: component,
    [family.nameField]: name,
    run_id: shownIdOf(state, run),
    ...(parent !== undefined && { parent_run_id: shownIdOf(state, parent) }),
    session_id: state.session,
    ...locationOf(state, speaker),
    nested_depth: depth,
  }
}

function workflowHead(state: State, event: string, workflow: Speaker, time: string, step?: Step): Fields {
  const { run, component, name, parent, depth } = workflow
  return {
    created_at: secondsOf(time),
    event,
    workflow_id: component,
    workflow_name: name,
    session_id: state.session,
    run_id: shownIdOf(state, run),
    ...(parent !== undefined && { parent_run_id: shownIdOf(state, parent) }),
    ...(step !== undefined && { step_id: step.id }),
    ...(step?.parent !== undefined && { parent_step_id: step.parent }),
    nested_depth: depth,
  }
}

class LazyFrame implements Frame {
  readonly index: number
  readonly event: string
  readonly log: number
  readonly pauses: boolean
  readonly #build: () => Fields

  constructor(index: number, event: string, log: number, pauses: boolean, build: () => Fields) {
    this.index = index
    this.event = event
    this.log = log
    this.pauses = pauses
    this.#build = build
  }

  get data(): Readonly<Record<string, unknown>> {
    return { ...this.#build(), event_index: this.index }
  }

  get json(): string {
    return JSON.stringify(this.data)
  }
}

/** The family of events that agents and teams share. */
export function sharedFamily({ kind }: Speaker): Family {
  return families[kind === 'workflow' ? 'agent' : kind]
}

/** The workflow position of a speaker. */
function locationOf(state: State, { workflow, step: id }: Speaker): Fields {
  const { speakers, steps } = state
  if (workflow === undefined) return {}
  const around = speakers.get(workflow)
  const step = id === undefined ? undefined : steps.get(id)
  return {
    workflow_id: around?.component,
    workflow_run_id: shownIdOf(state, workflow),
    ...(step !== undefined && { step_id: step.id, step_name: step.name, step_index: step.index }),
  }
}

function valueOf(fields: LazyFields): Fields {
  return typeof fields === 'function' ? (fields as () => Fields)() : fields
}

/** Events sent even with `stream_events=false`: content and its end. */
function isContent(event: string): boolean {
  return /(?:RunContent|Error|Cancelled|Paused|StepOutput)$/.test(event)
}
