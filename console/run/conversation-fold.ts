/**
 * Reducer: folds a run's events into conversation blocks. A changed block is a new object, so that only it is rendered again.
 */
import type { Actor, EventType, LoggedEvent } from 'holdfast/client'
import type {
  ArtifactBlock,
  Block,
  EndBlock,
  MemberBlock,
  NewBlock,
  StepBlock,
  TextBlock,
  ToolBlock,
} from './blocks.ts'
import { concerns } from './withdrawal.ts'

type Logged<Type extends EventType> = Extract<LoggedEvent, { type: Type }>

export class ConversationFold {
  /** Replaced on every change. */
  blocks: readonly Block[] = []
  readonly actors = new Map<string, Actor>()
  #list: Block[] = []
  /** Index of each actor's open text block. */
  readonly #speaking = new Map<string, number>()
  readonly #tools = new Map<string, number>()
  readonly #steps = new Map<string, number>()
  readonly #unshown = new Set<string>()
  readonly #members = new Map<string, number>()
  readonly #artifacts = new Map<string, number>()
  /** Which piece of a text block came with which event, so that part of it can be retracted. */
  readonly #pieces = new Map<number, { index: number; at: number }[]>()

  apply(events: readonly LoggedEvent[]): void {
    for (const event of events) this.#take(event)
    this.blocks = [...this.#list]
  }

  #take(event: LoggedEvent): void {
    const { actor } = event
    if (actor !== undefined && !this.actors.has(actor.run)) this.actors.set(actor.run, actor)
    const handler = handlers[event.type] as ((fold: ConversationFold, event: LoggedEvent) => void) | undefined
    handler?.(this, event)
  }

  add(event: LoggedEvent, block: NewBlock): number {
    const common = { index: event.index, actor: event.actor?.run ?? '', discarded: false }
    return this.#list.push({ ...block, ...common }) - 1
  }

  change<Kind extends Block>(at: number | undefined, changes: Partial<Kind>): void {
    if (at !== undefined) this.#list[at] = { ...this.#list[at]!, ...changes }
  }

  say(event: Logged<'text.delta' | 'reasoning.delta'>): void {
    const key = event.actor?.run ?? ''
    const kind = event.type === 'text.delta' ? 'text' : 'reasoning'
    let at = this.#speaking.get(key)
    if (at === undefined || this.#list[at]!.kind !== kind) {
      this.hush(event)
      at = this.add(event, { kind, text: '', open: true })
      this.#speaking.set(key, at)
      this.#pieces.set(at, [])
    }
    const block = this.#list[at] as TextBlock
    this.#pieces.get(at)!.push({ index: event.index, at: block.text.length })
    this.#list[at] = { ...block, text: block.text + event.data.text }
  }

  /** Ends an actor's open text block. */
  hush({ actor }: LoggedEvent): void {
    this.#close(actor?.run ?? '')
  }

  #close(key: string): void {
    this.change<TextBlock>(this.#speaking.get(key), { open: false })
    this.#speaking.delete(key)
  }

  hushAll(): void {
    for (const at of this.#speaking.values()) this.change<TextBlock>(at, { open: false })
    this.#speaking.clear()
  }

  draft(event: Logged<'tool.drafted'>): void {
    const { call, name, delta } = event.data
    let at = this.#tools.get(call)
    if (at === undefined) at = this.#addTool(event, call, name, 'drafting')
    this.change<ToolBlock>(at, { draft: (this.#list[at] as ToolBlock).draft + delta })
  }

  callTool(event: Logged<'tool.called'>): void {
    const { call, name, input } = event.data
    const known = this.#tools.get(call)
    const drafting = known !== undefined && (this.#list[known] as ToolBlock).state === 'drafting'
    const at = drafting ? known : this.#addTool(event, call, name, 'running')
    this.change<ToolBlock>(at, { state: 'running', input, startedAt: event.time })
  }

  #addTool(event: LoggedEvent, call: string, name: string, state: ToolBlock['state']): number {
    this.hush(event)
    const block = { kind: 'tool', call, name, state, draft: '', startedAt: event.time } as const
    const at = this.add(event, block)
    this.#tools.set(call, at)
    return at
  }

  endTool(event: Logged<'tool.completed' | 'tool.failed'>): void {
    const { call, name } = event.data
    const at = this.#tools.get(call) ?? this.#addTool(event, call, name, 'running')
    const result =
      event.type === 'tool.completed'
        ? ({ state: 'done', output: event.data.output } as const)
        : ({ state: 'failed', error: event.data.error } as const)
    this.change<ToolBlock>(at, { ...result, endedAt: event.time })
  }

  progress({ data }: Logged<'tool.progressed'>): void {
    this.change<ToolBlock>(this.#tools.get(data.call), { progress: data.output })
  }

  startStep(event: Logged<'step.started'>): void {
    const { step, name, kind = 'function', parent } = event.data
    this.hush(event)
    if (kind === 'model') return void this.#unshown.add(step) // the model's output is shown, and the timeline has the rest
    const around = parent === undefined ? undefined : this.#steps.get(parent)
    const depth = around === undefined ? 0 : (this.#list[around] as StepBlock).depth + 1
    const block = { kind: 'step', step, name, stepKind: kind, parent, depth, state: 'running' } as const
    this.#steps.set(step, this.add(event, block))
  }

  endStep(event: Logged<'step.completed' | 'step.failed' | 'step.skipped'>, changes: Partial<StepBlock>): void {
    const { step, name } = event.data
    this.hush(event)
    if (this.#unshown.delete(step)) return
    if (!this.#steps.has(step)) {
      const block = { kind: 'step', step, name, stepKind: 'function', depth: 0, state: 'running' } as const
      this.#steps.set(step, this.add(event, block))
    }
    this.change<StepBlock>(this.#steps.get(step), changes)
  }

  startMember(event: Logged<'actor.started'>): void {
    const { component = '', kind = 'agent', run = '', parent } = event.actor ?? {}
    this.#close(parent === event.run ? '' : (parent ?? '')) // ends the caller's block, so that its next text comes after this
    const { input, key } = event.data
    const block = { kind: 'member', component, memberKind: kind, key, state: 'running', input } as const
    this.#members.set(run, this.add(event, block))
  }

  endMember(event: LoggedEvent, changes: Partial<MemberBlock>): void {
    this.hush(event)
    this.change<MemberBlock>(this.#members.get(event.actor?.run ?? ''), changes)
  }

  addArtifact(event: Logged<'artifact.added'>): void {
    const { artifact, name, mediaType, text = '', bytes, url, value, append = false, last = false } = event.data
    const at = this.#artifacts.get(artifact)
    const chunks = typeof bytes === 'string' ? [bytes] : []
    if (at !== undefined && append) {
      const known = this.#list[at] as ArtifactBlock
      const grown = { text: known.text + text, chunks: [...known.chunks, ...chunks], whole: last }
      return this.change<ArtifactBlock>(at, grown)
    }
    this.hush(event)
    const whole = !append || last
    const block = { kind: 'artifact', artifact, name, mediaType, text, chunks, url, value, whole } as const
    this.#artifacts.set(artifact, this.add(event, block))
  }

  answer({ data }: Logged<'run.resumed'>): void {
    const at = this.#list.findLastIndex((block) => block.kind === 'ask' && block.answers === undefined)
    if (at >= 0) this.change(at, { answers: data.answers })
  }

  withdraw(event: Logged<'attempt.discarded'>): void {
    this.hushAll()
    const { from, ledger } = event.data
    for (let at = this.#list.length - 1; at >= 0; at--) {
      const block = this.#list[at]!
      if (block.discarded || !concerns(event, block.actor, this.actors)) continue
      const isText = block.kind === 'text' || block.kind === 'reasoning'
      if (isText) this.#withdrawText(at, block, from)
      else if (block.index >= from && (ledger === 'dropped' || block.kind === 'artifact') && isOutput(block))
        this.change(at, { discarded: true })
    }
  }

  #withdrawText(at: number, block: TextBlock, from: number): void {
    if (block.index >= from) return this.change(at, { discarded: true })
    const cut = this.#pieces.get(at)?.find(({ index }) => index >= from)
    if (cut === undefined) return
    this.change<TextBlock>(at, { text: block.text.slice(0, cut.at) })
    this.#list.push({ ...block, index: cut.index, text: block.text.slice(cut.at), open: false, discarded: true })
  }
}

function isOutput({ kind }: Block): boolean {
  return kind !== 'input' && kind !== 'note' && kind !== 'ask' && kind !== 'end'
}

type Handlers = { [Type in EventType]?: (fold: ConversationFold, event: Logged<Type>) => void }

const handlers: Handlers = {
  'run.created': (fold, event) => void fold.add(event, { kind: 'input', value: event.data.input }),
  'run.started': (fold, event) => {
    fold.hushAll()
    if (event.data.attempt > 1) note(fold, event, `Attempt ${event.data.attempt} begins`)
  },
  'run.released': (fold, event) => note(fold, event, `The worker released the run (${event.data.reason})`),
  'run.paused': (fold, event) => {
    fold.hushAll()
    fold.add(event, { kind: 'ask', questions: event.data.questions })
  },
  'run.resumed': (fold, event) => fold.answer(event),
  'stop.requested': (fold, event) =>
    note(fold, event, `Stop requested${event.data.reason === undefined ? '' : `: ${event.data.reason}`}`, 'warning'),
  'attempt.discarded': (fold, event) => {
    fold.withdraw(event)
    note(fold, event, `Output from event ${event.data.from} on was retracted: ${event.data.reason}`, 'warning')
  },
  'run.completed': (fold, event) => end(fold, event, { status: 'completed', output: event.data.output }),
  'run.failed': (fold, event) => end(fold, event, { status: 'failed', error: event.data.error }),
  'run.cancelled': (fold, event) => end(fold, event, { status: 'cancelled', reason: event.data.reason }),
  'run.rejected': (fold, event) => end(fold, event, { status: 'rejected', reason: event.data.reason }),
  'actor.started': (fold, event) => fold.startMember(event),
  'actor.completed': (fold, event) => fold.endMember(event, { state: 'done' }),
  'actor.failed': (fold, event) => fold.endMember(event, { state: 'failed', error: event.data.error }),
  'text.delta': (fold, event) => fold.say(event),
  'text.completed': (fold, event) => fold.hush(event),
  'reasoning.delta': (fold, event) => fold.say(event),
  'reasoning.completed': (fold, event) => fold.hush(event),
  'model.requested': (fold, event) => fold.hush(event),
  'tool.drafted': (fold, event) => fold.draft(event),
  'tool.called': (fold, event) => fold.callTool(event),
  'tool.progressed': (fold, event) => fold.progress(event),
  'tool.completed': (fold, event) => fold.endTool(event),
  'tool.failed': (fold, event) => fold.endTool(event),
  'step.started': (fold, event) => fold.startStep(event),
  'step.completed': (fold, event) => fold.endStep(event, { state: 'done', output: event.data.output }),
  'step.failed': (fold, event) => fold.endStep(event, { state: 'failed', error: event.data.error }),
  'step.skipped': (fold, event) => {
    const { reason } = event.data
    fold.endStep(event, { state: 'skipped', ...(reason !== undefined && { reason }) })
  },
  'artifact.added': (fold, event) => fold.addArtifact(event),
  'source.cited': (fold, event) => {
    const { source, title = event.data.url ?? source, url } = event.data
    fold.add(event, { kind: 'source', title, url })
  },
  'state.replaced': (fold, event) => fact(fold, event, 'state', event.data.state),
  'state.patched': (fold, event) => fact(fold, event, 'state changed', event.data.patch),
  'custom.emitted': (fold, event) => fact(fold, event, event.data.name, event.data.value),
}

function note(fold: ConversationFold, event: LoggedEvent, text: string, tone: 'plain' | 'warning' = 'plain'): void {
  fold.add(event, { kind: 'note', tone, text })
}

function fact(fold: ConversationFold, event: LoggedEvent, name: string, value: unknown): void {
  fold.hush(event)
  fold.add(event, { kind: 'fact', name, value })
}

function end(
  fold: ConversationFold,
  event: LoggedEvent,
  outcome: Pick<EndBlock, 'status' | 'output' | 'error' | 'reason'>,
): void {
  fold.hushAll()
  fold.add(event, { kind: 'end', ...outcome })
}
