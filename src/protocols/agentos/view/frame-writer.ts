/** Collects the numbered frames of one log event, and the state after them. */
import type { LoggedEvent } from '../../../core/model/event.ts'
import { families, type Family } from '../wire/families.ts'
import { rootOf, secondsOf, type Speaker, type State, type Step } from './state.ts'

export interface Frame {
  /** `event_index`, also the frame's id. */
  readonly index: number
  readonly event: string
  readonly data: Readonly<Record<string, unknown>>
  /** Index of its log event. */
  readonly log: number
  /** The run pauses after this frame. */
  readonly pauses?: true
}

type Fields = object

export class FrameWriter {
  readonly event: LoggedEvent
  readonly frames: Frame[] = []
  state: State

  constructor(state: State, event: LoggedEvent) {
    this.state = state
    this.event = event
  }

  /** Stores a speaker's new state. */
  keep(speaker: Speaker): Speaker {
    const speakers = new Map(this.state.speakers)
    speakers.set(speaker.run, speaker)
    this.state = { ...this.state, speakers }
    return speaker
  }

  keepStep(step: Step): void {
    const steps = new Map(this.state.steps)
    steps.set(step.id, step)
    this.state = { ...this.state, steps }
  }

  /** An event that agents and teams share. A workflow's own content is written as that of an agent with its name. */
  say(speaker: Speaker, name: string, fields: Fields = {}): void {
    const family = families[speaker.kind === 'workflow' ? 'agent' : speaker.kind]
    this.#put(family.prefix + name, { ...this.#head(family, family.prefix + name, speaker), ...fields })
  }

  /** An event of the speaker's family, by its full name. */
  tell(speaker: Speaker, name: string, fields: Fields = {}, pauses = false): void {
    this.#put(name, { ...this.#head(families[speaker.kind], name, speaker), ...fields }, pauses)
  }

  /** A workflow event about a step. */
  tellStep(step: Step, name: string, fields: Fields = {}): void {
    const workflow = this.state.speakers.get(step.workflow) ?? rootOf(this.state)
    this.#put(name, {
      ...this.#workflowHead(name, workflow, step),
      step_name: step.name,
      step_index: step.index,
      ...fields,
    })
  }

  /** A custom event. Default name: `message`. */
  custom(speaker: Speaker, name: string, value: unknown, fields: Fields = {}): void {
    const head = this.#head(families[speaker.kind], 'CustomEvent', speaker)
    this.#put(name === '' ? 'message' : 'CustomEvent', {
      ...head,
      name,
      ...(value !== undefined && { value }),
      ...fields,
    })
  }

  #put(event: string, data: Fields, pauses = false): void {
    if (!this.state.allEvents && !isContent(event)) return
    const index = this.state.next
    this.state = { ...this.state, next: index + 1 }
    const frame = { index, event, data: { ...data, event_index: index }, log: this.event.index }
    this.frames.push(pauses ? { ...frame, pauses } : frame)
  }

  #head(family: Family, event: string, speaker: Speaker): Fields {
    if (family.kind === 'workflow') return this.#workflowHead(event, speaker)
    const { run, component, name, parent, depth } = speaker
    return {
      created_at: secondsOf(this.event.time),
      event,
      [family.idField]: component,
      [family.nameField]: name,
      run_id: run,
      ...(parent !== undefined && { parent_run_id: parent }),
      session_id: this.state.session,
      ...this.#location(speaker),
      nested_depth: depth,
    }
  }

  #workflowHead(event: string, workflow: Speaker, step?: Step): Fields {
    const { run, component, name, parent, depth } = workflow
    return {
      created_at: secondsOf(this.event.time),
      event,
      workflow_id: component,
      workflow_name: name,
      session_id: this.state.session,
      run_id: run,
      ...(parent !== undefined && { parent_run_id: parent }),
      ...(step !== undefined && { step_id: step.id }),
      ...(step?.parent !== undefined && { parent_step_id: step.parent }),
      nested_depth: depth,
    }
  }

  /** The workflow position of a speaker. */
  #location({ workflow, step: id }: Speaker): Fields {
    if (workflow === undefined) return {}
    const around = this.state.speakers.get(workflow)
    const step = id === undefined ? undefined : this.state.steps.get(id)
    return {
      workflow_id: around?.component,
      workflow_run_id: workflow,
      ...(step !== undefined && { step_id: step.id, step_name: step.name, step_index: step.index }),
    }
  }
}

/** Events sent even with `stream_events=false`: content and its end. */
function isContent(event: string): boolean {
  return /(?:RunContent|Error|Cancelled|Paused|StepOutput)$/.test(event)
}
