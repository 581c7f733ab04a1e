/** Folds tool calls, steps, called components and model requests, each with its enclosing step. */
import type { LoggedEvent, LoggedEventOf } from '../model/event.ts'
import { actorKey } from './actors.ts'
import { type ActorEntry, type Entry, isOpen, type StepEntry, type ToolEntry } from './entries.ts'
import type { EntryList } from './entry-list.ts'

export class WorkFold {
  readonly #entries: EntryList
  /** By actor: indexes of steps that may be open, innermost last. */
  readonly #steps = new Map<string, number[]>()

  constructor(entries: EntryList) {
    this.#entries = entries
  }

  /** Continues from a restored entry. */
  restore(entry: Entry): void {
    if (entry.kind === 'step' && isOpen(entry)) this.#openSteps(entry.actor).push(entry.index)
  }

  apply(event: LoggedEvent): Entry | undefined {
    switch (event.type) {
      case 'tool.drafted':
        return this.#draftTool(event)
      case 'tool.called':
        return this.#callTool(event)
      case 'tool.progressed':
        return this.#entries.change(this.#tool(event), { progress: event.data.output })
      case 'tool.completed':
        return this.#endTool(event, { state: 'done', output: event.data.output })
      case 'tool.failed':
        return this.#endTool(event, { state: 'failed', error: event.data.error })
      case 'step.started':
        return this.#startStep(event)
      case 'step.completed':
        return this.#endStep(event, { state: 'done', output: event.data.output })
      case 'step.failed':
        return this.#endStep(event, { state: 'failed', error: event.data.error })
      case 'step.skipped':
        return this.#endStep(event, { state: 'skipped', reason: event.data.reason })
      case 'actor.started':
        return this.#startActor(event)
      case 'actor.completed':
        return this.#endActor(event, { state: 'done', output: event.data.output, usage: event.data.usage })
      case 'actor.failed':
        return this.#endActor(event, { state: 'failed', error: event.data.error, usage: event.data.usage })
      case 'model.requested':
        return this.#requestModel(event)
      case 'model.responded':
        return this.#entries.change(this.#entries.find('model', refOf(event, event.data.request)), {
          state: 'done',
          usage: event.data.usage,
          endedAt: event.time,
        })
      default:
        return undefined
    }
  }

  #tool(
    event: LoggedEventOf<`tool.${'drafted' | 'called' | 'progressed' | 'completed' | 'failed'}`>,
  ): ToolEntry | undefined {
    return this.#entries.find('tool', refOf(event, event.data.call))
  }

  #beginTool(
    event: LoggedEventOf<`tool.${'drafted' | 'called' | 'completed' | 'failed'}`>,
    state: ToolEntry['state'],
  ): ToolEntry | undefined {
    const { call, name } = event.data
    const { key, within } = event.data as { readonly key?: string; readonly within?: string }
    const fields = { kind: 'tool', call, name, state, draft: '', recorded: key !== undefined } as const
    const step = this.#stepAround(actorKey(event.actor), within)
    return this.#entries.begin(event, { ...fields, step }, refOf(event, call)) as ToolEntry | undefined
  }

  #draftTool(event: LoggedEventOf<'tool.drafted'>): Entry | undefined {
    const known = this.#tool(event)
    const tool = known?.state === 'drafting' && !known.retracted ? known : this.#beginTool(event, 'drafting')
    return this.#entries.change(tool, { draft: (tool?.draft ?? '') + event.data.delta })
  }

  /** A call that is repeated after a crash gets a new entry. */
  #callTool(event: LoggedEventOf<'tool.called'>): Entry | undefined {
    const { input, key } = event.data
    const known = this.#tool(event)
    if (known?.state === 'running' && !known.retracted) return known
    const tool = known?.state === 'drafting' && !known.retracted ? known : this.#beginTool(event, 'running')
    return this.#entries.change(tool, { state: 'running', input, recorded: key !== undefined, time: event.time })
  }

  #endTool(event: LoggedEventOf<'tool.completed' | 'tool.failed'>, result: Partial<ToolEntry>): Entry | undefined {
    const tool = this.#tool(event) ?? this.#beginTool(event, 'running')
    return this.#entries.change(tool, { ...result, endedAt: event.time })
  }

  #startStep(event: LoggedEventOf<'step.started'>): Entry | undefined {
    const { step: id, name, kind: stepKind = 'function', parent, details, key } = event.data
    const step = parent === undefined ? undefined : this.#entries.find('step', refOf(event, parent))?.index
    const fields = { kind: 'step', id, name, stepKind, details, state: 'running', recorded: key !== undefined } as const
    const whose = actorKey(event.actor)
    this.#openSteps(whose).push(event.index)
    return this.#entries.begin(event, { ...fields, step }, refOf(event, id))
  }

  #endStep(
    event: LoggedEventOf<'step.completed' | 'step.failed' | 'step.skipped'>,
    result: Partial<StepEntry>,
  ): Entry | undefined {
    const { step: id, name } = event.data
    const ref = refOf(event, id)
    const fields = { kind: 'step', id, name, stepKind: 'function', state: 'running' } as const
    const recorded = (event.data as { readonly key?: string }).key !== undefined
    const step = this.#entries.find('step', ref) ?? this.#entries.begin(event, { ...fields, recorded }, ref)
    return this.#entries.change(step as StepEntry | undefined, { ...result, endedAt: event.time })
  }

  #startActor(event: LoggedEventOf<'actor.started'>): Entry | undefined {
    const { input, key, within } = event.data
    const known = this.#entries.find('actor', actorKey(event.actor))
    if (known?.state === 'running' && !known.retracted) return known
    const caller = callingActorOf(event)
    const performed = this.#entries.find('step', `${caller} ${key}`)?.index
    return this.#beginActor(event, input, performed ?? this.#stepAround(caller, within))
  }

  #beginActor(event: LoggedEvent, input: unknown, step: number | undefined): ActorEntry | undefined {
    const { component, kind: componentKind = 'agent' } = event.actor ?? { component: 'component' }
    const fields = { kind: 'actor', component, componentKind, caller: callingActorOf(event), state: 'running' } as const
    const entry = this.#entries.begin(event, { ...fields, recorded: true, step, input }, actorKey(event.actor))
    return entry as ActorEntry | undefined
  }

  #endActor(event: LoggedEventOf<'actor.completed' | 'actor.failed'>, result: Partial<ActorEntry>): Entry | undefined {
    const entry = this.#entries.find('actor', actorKey(event.actor)) ?? this.#beginActor(event, undefined, undefined)
    return this.#entries.change(entry, { ...result, endedAt: event.time })
  }

  #requestModel(event: LoggedEventOf<'model.requested'>): Entry | undefined {
    const { request, model } = event.data
    const step = this.#stepAround(actorKey(event.actor), undefined)
    const fields = { kind: 'model', request, model, state: 'running', recorded: false, step } as const
    return this.#entries.begin(event, fields, refOf(event, request))
  }

  /** The step that the event names, or the innermost open step of the actor. */
  #stepAround(whose: string, within: string | undefined): number | undefined {
    const named = within?.startsWith('step:') === true ? within.slice('step:'.length) : undefined
    const step = named === undefined ? undefined : this.#entries.find('step', `${whose} ${named}`)
    if (step !== undefined) return step.index
    return this.#openSteps(whose).at(-1)
  }

  /** Drops completed steps at the end of the list. */
  #openSteps(whose: string): number[] {
    const steps = this.#steps.get(whose) ?? []
    while (steps.length > 0 && !this.#isOpen(steps.at(-1)!)) steps.pop()
    this.#steps.set(whose, steps)
    return steps
  }

  #isOpen(index: number): boolean {
    const entry = this.#entries.get(index)
    return entry?.kind === 'step' && entry.state === 'running' && !entry.retracted
  }
}

/** Work ids are unique within an actor. */
function refOf({ actor }: LoggedEvent, id: string): string {
  return `${actorKey(actor)} ${id}`
}

/** Key of the actor that called an event's actor. */
export function callingActorOf({ actor, run }: LoggedEvent): string {
  return actor?.parent === undefined || actor.parent === run ? '' : actor.parent
}
