/** Applies one event to a view: adds pieces to its messages, and frames to its stream. */
import type { LoggedEvent } from '../../../core/model/event.ts'
import type { ProjectionStep } from '../../../core/ports/projection.ts'
import { actorKey } from '../../../core/structure/actors.ts'
import type { AgUiEvent } from '../wire/events.ts'
import { toMessageId } from '../wire/ids.ts'
import { addToList } from './piece-list.ts'
import type { AgentFrame, AgentState, OpenText, Piece, PieceNode } from './state.ts'

type MapOf<Name extends 'texts' | 'calls' | 'steps' | 'agents'> =
  AgentState[Name] extends ReadonlyMap<string, infer Value> ? Value : never

export class AgentWriter {
  readonly event: LoggedEvent
  state: AgentState
  readonly frames: AgentFrame[] = []

  constructor(state: AgentState, event: LoggedEvent) {
    this.state = state
    this.event = event
  }

  get step(): ProjectionStep<AgentState, AgentFrame> {
    return { state: this.state, frames: this.frames }
  }

  /** Key of the event's actor. */
  get actor(): string {
    return actorKey(this.event.actor)
  }

  set(changes: Partial<AgentState>): void {
    this.state = { ...this.state, ...changes }
  }

  /** Adds or changes an open item, or removes it. */
  put<Name extends 'texts' | 'calls' | 'steps' | 'agents'>(
    name: Name,
    key: string,
    value: MapOf<Name> | undefined,
  ): void {
    const entries = new Map<string, unknown>(this.state[name])
    if (value === undefined) entries.delete(key)
    else entries.set(key, value)
    this.set({ [name]: entries })
  }

  show(event: AgUiEvent): void {
    const { position, leg } = this.state
    this.frames.push({ position, event, leg })
    this.set({ position: position + 1 })
  }

  /** Ends the current AG-UI run. */
  end(event: AgUiEvent): void {
    const { position, leg } = this.state
    this.frames.push({ position, event, leg, ends: true })
    this.set({ position: position + 1, end: event })
  }

  keep(
    piece: Piece,
    { actor = this.actor, recorded = false }: Partial<Pick<PieceNode, 'actor' | 'recorded'>> = {},
  ): void {
    const { index: log } = this.event
    this.set({ pieces: addToList(this.state.pieces, { piece, log, actor, recorded }) })
  }

  /** Attributes content to a called component. */
  by(actor = this.actor): Attribution {
    return attributionOf(actor)
  }

  say(kind: OpenText['kind'], text: string, message: string | undefined): void {
    if (text === '') return
    const { actor } = this
    const { id } = this.#openText(kind, message)
    const by = this.by()
    this.show({
      type: kind === 'text' ? 'TEXT_MESSAGE_CONTENT' : 'REASONING_MESSAGE_CONTENT',
      messageId: id,
      delta: text,
      ...by,
    })
    this.keep({ kind, id, text, ...(by.subagentRunId !== undefined && { subagent: by.subagentRunId }) })
    if (kind === 'text' && actor === '') this.set({ hasText: true })
  }

  closeText(actor = this.actor): void {
    const open = this.state.texts.get(actor)
    if (open === undefined) return
    for (const event of textEnds(open)) this.show(event)
    this.put('texts', actor, undefined)
  }

  #openText(kind: OpenText['kind'], message: string | undefined): OpenText {
    const { actor } = this
    const open = this.state.texts.get(actor)
    if (open?.kind === kind && open.message === message) return open
    this.closeText()
    const { run, index } = this.event
    const opened = { kind, id: toMessageId(run, index), message, log: index, actor }
    this.put('texts', actor, opened)
    for (const event of textStarts(opened)) this.show(event)
    return opened
  }
}

export interface Attribution {
  readonly subagentRunId?: string
}

/** Empty for the run's own component. */
export function attributionOf(actor: string): Attribution {
  return actor === '' ? {} : { subagentRunId: actor }
}

export function textStarts({ kind, id: messageId, actor }: OpenText): readonly AgUiEvent[] {
  const by = attributionOf(actor)
  if (kind === 'text') return [{ type: 'TEXT_MESSAGE_START', messageId, role: 'assistant', ...by }]
  return [
    { type: 'REASONING_START', messageId, ...by },
    { type: 'REASONING_MESSAGE_START', messageId, role: 'reasoning', ...by },
  ]
}

function textEnds({ kind, id: messageId, actor }: OpenText): readonly AgUiEvent[] {
  const by = attributionOf(actor)
  if (kind === 'text') return [{ type: 'TEXT_MESSAGE_END', messageId, ...by }]
  return [
    { type: 'REASONING_MESSAGE_END', messageId, ...by },
    { type: 'REASONING_END', messageId, ...by },
  ]
}
