/** Applies one event to a chat: adds chunks to the message, and sends them as frames while this view is active. */
import type { LoggedEvent } from '../../core/model/event.ts'
import { actorKey } from '../../core/structure/actors.ts'
import type { Chunk } from '../chunks.ts'
import { toMessageId } from '../ids.ts'
import { addChunk, type StandingChunk } from './chunk-list.ts'
import type { ChatFrame, ChatState, OpenTool, OpenText, OpenWork, ViewStart } from './state.ts'

export interface ChatView extends ViewStart {
  /** Tool parts are `tool-<name>` for clients that know their tools, `dynamic-tool` for others. */
  readonly tools: 'static' | 'dynamic'
}

export interface EmitOptions {
  /** Default: the current one. */
  readonly step?: number
  readonly recorded?: boolean
  /** Key of the actor that emitted the output. Default: the event's actor. */
  readonly actor?: string
  /** The tool call that it ends. */
  readonly ends?: OpenTool
}

export function standingChunk(
  state: ChatState,
  chunk: Chunk,
  log: number,
  { step = state.step, recorded = false, actor = actorKey(undefined), ends }: EmitOptions = {},
): StandingChunk {
  return { chunk, log, actor, recorded, message: state.message.leg, step, ends }
}

export class ChatWriter {
  readonly view: ChatView
  readonly event: LoggedEvent
  state: ChatState
  readonly frames: ChatFrame[] = []

  #isOwnState = false

  constructor(view: ChatView, state: ChatState, event: LoggedEvent) {
    this.view = view
    this.state = state
    this.event = event
  }

  get isOwn(): boolean {
    return this.event.actor === undefined
  }

  /** Copies the given state; changes the writer's own state in place. */
  set(changes: Partial<ChatState>): void {
    this.state = this.#isOwnState ? Object.assign(this.state, changes) : { ...this.state, ...changes }
    this.#isOwnState = true
  }

  setTool(id: string, tool: OpenTool | undefined): void {
    const tools = new Map(this.state.tools)
    if (tool === undefined) tools.delete(id)
    else tools.set(id, tool)
    this.set({ tools })
  }

  setWork(id: string, open: OpenWork | undefined): void {
    const work = new Map(this.state.work)
    if (open === undefined) work.delete(id)
    else work.set(id, open)
    this.set({ work })
  }

  emit(chunk: Chunk, options: EmitOptions = {}): void {
    const { index, actor } = this.event
    const added = standingChunk(this.state, chunk, index, { actor: actorKey(actor), ...options })
    this.set({ chunks: addChunk(this.state.chunks, added) })
    this.show(chunk)
  }

  /** Sends a chunk that is not part of the message, or repeats one that is. */
  show(chunk: Chunk): void {
    if (this.state.visibility !== 'open') return
    const { position } = this.state
    this.frames.push({ position, chunk })
    this.set({ position: position + 1 })
  }

  /** Sends the chunks that end a stream. */
  close(end: 'pause' | 'run', chunks: readonly Chunk[]): void {
    if (this.state.visibility !== 'open') return
    let { position } = this.state
    const closes = end === 'pause' ? ({ closes: true } as const) : {}
    for (const chunk of chunks) this.frames.push({ position: position++, chunk, ...closes })
    this.frames.push({ position, chunk: '[DONE]', end, ...closes })
    if (end === 'run') this.set({ position, visibility: 'ended' })
  }

  /** Ends this view without ending the message: the client must replay it. */
  cut(): void {
    if (this.state.visibility !== 'open') return
    this.frames.push({ position: this.state.position, chunk: undefined, end: 'cut' })
    this.set({ visibility: 'ended' })
  }

  /** Starts this view: the message, and its chunks so far. */
  begin(chunks: readonly StandingChunk[], given?: string): void {
    const { run, session, message } = this.state
    this.set({ visibility: 'open', position: 0 })
    const metadata = { holdfast: { run, session } }
    const messageId = given ?? toMessageId({ run, leg: message.leg })
    this.show({ type: 'start', messageId, messageMetadata: metadata })
    for (const { chunk } of chunks) this.show(chunk)
  }

  beginStep(): void {
    this.set({ step: this.state.step + 1, stepDue: false, hasResults: false })
    this.emit({ type: 'start-step' })
  }

  /** Starts the step that is due before the component's next output. */
  beginDueStep(): void {
    if (!this.state.stepDue) return
    this.closeText()
    this.emit({ type: 'finish-step' })
    this.beginStep()
  }

  say(kind: OpenText['kind'], text: string, message: string | undefined): void {
    if (text === '') return
    const id = this.#openText(kind, message)
    this.emit({ type: `${kind}-delta`, id, delta: text })
    if (kind === 'text') this.set({ textChars: this.state.textChars + text.length })
  }

  closeText(): void {
    const { text } = this.state
    if (text === undefined) return
    this.emit({ type: `${text.kind}-end`, id: text.id }, { actor: '' })
    this.set({ text: undefined })
  }

  /** Adds a part that is not text. Later text of the component is another part. */
  addPart(chunk: Chunk): void {
    if (this.isOwn) {
      this.closeText()
      this.beginDueStep()
    }
    this.emit(chunk)
  }

  #openText(kind: OpenText['kind'], message: string | undefined): string {
    const { text, texts } = this.state
    if (text?.kind === kind && text.message === message) return text.id
    this.closeText()
    this.beginDueStep()
    const id = message ?? `${kind}-${texts + 1}`
    this.set({ text: { kind, id, message }, texts: texts + 1 })
    this.emit({ type: `${kind}-start`, id })
    return id
  }
}
