/** The runs of a chat: a chat is a session, and its runs are those of one component. */
import { type Clock, systemClock } from '../../../core/ports/clock.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import { isFinished } from '../../../core/model/run.ts'
import type { Component } from '../../../core/ports/component.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { Service } from '../../../core/service.ts'
import { findComponent } from '../../../http/request/find-component.ts'
import { assertUntrimmed, SessionRuns } from '../../../http/session-runs.ts'
import type { Checkpoint, SharedView } from '../../../core/delivery/shared-view.ts'
import type { ChatStream } from '../wire/stream.ts'
import { type Leg, parseStreamId } from '../../../ai-sdk/ids.ts'
import type { ChatView } from '../../../ai-sdk/view/chat-writer.ts'
import { chatKind } from '../../../ai-sdk/view/projection.ts'
import type { ChatFrame, ChatState } from '../../../ai-sdk/view/state.ts'

/** A run that has just ended is replayed, for pages that were loaded meanwhile. */
const RECENT_MS = 60_000

export type ToolParts = ChatView['tools']

export interface FoundStream {
  readonly stored: StoredRun
  /** The leg that the id named. */
  readonly named?: Leg
  /** It named the leg itself, not only the run. */
  readonly isNamed?: boolean
}

export class ChatService extends SessionRuns {
  readonly #clock: Clock

  constructor(service: Service, clock: Clock = systemClock) {
    super(service)
    this.#clock = clock
  }

  /** By id. Default: the only one. */
  component(id: string | undefined): Component {
    return findComponent(this.service, id)
  }

  /** The run that a returning client wants to see: the newest that has not ended, or that has ended just now. */
  async current(principal: Principal, component: Component, session: string): Promise<StoredRun | undefined> {
    const [unfinished] = await this.unfinished(principal, component, session)
    if (unfinished !== undefined) return unfinished
    const newest = await this.newest(principal, component, session)
    const ended = newest?.run.finishedAt
    return ended !== undefined && this.#clock.now() - Date.parse(ended) < RECENT_MS ? newest : undefined
  }

  /** What a client resumes by the id of a chat, of a run, or of a stream. Undefined if there is nothing. */
  async find(principal: Principal, component: Component, id: string): Promise<FoundStream | undefined> {
    const named = parseStreamId(id)
    const stored =
      named === undefined
        ? await this.current(principal, component, id)
        : await this.run(principal, component, named.run)
    return stored && { stored, ...(named !== undefined && { named, isNamed: id.includes('~') }) }
  }

  /** A run's own id means its current message, as long as nobody counts chunks. */
  resume(
    { stored, named, isNamed = false }: FoundStream,
    { startIndex, tools }: { readonly startIndex: number; readonly tools: ToolParts },
  ): Promise<ChatStream> {
    const isCurrent = named === undefined || (named.leg === 0 && startIndex <= 0 && !isNamed)
    const leg = isCurrent ? {} : { leg: named.leg }
    return this.stream(stored, { ...leg, startIndex, tools })
  }

  view(stored: StoredRun, view: ChatView): SharedView<ChatState, ChatFrame> {
    assertUntrimmed(stored)
    return this.service.views.open(stored, chatKind(view))
  }

  /** What a run's chat is like now. */
  async state(stored: StoredRun, tools: ToolParts): Promise<Checkpoint<ChatState>> {
    return this.view(stored, { leg: 0, restart: 0, tools }).current(stored.next)
  }

  /** The stream of a run that begins now. */
  fresh(stored: StoredRun, tools: ToolParts): ChatStream {
    return { view: this.view(stored, { leg: 0, restart: 0, tools }), leg: { run: stored.run.id, leg: 0 } }
  }

  /** The stream of a leg, or the replay of the current message; from a chunk on if `startIndex` says so. */
  async stream(
    stored: StoredRun,
    { leg, startIndex = 0, tools }: { readonly leg?: number; readonly startIndex?: number; readonly tools: ToolParts },
  ): Promise<ChatStream> {
    const { state, index } = await this.state(stored, tools)
    const start = leg === undefined ? state.message : { leg, restart: 0 }
    if (start.leg > state.leg) throw new HoldfastError('not_found', `run ${stored.run.id} has no leg ${start.leg}`)
    const view = this.view(stored, { ...start, tools })
    const { state: shown } = await view.current(stored.next)
    const position = positionIn(shown, startIndex, start.restart > 0 || isCut(shown, state))
    const pausesFrom = shown.endedAt ?? (state.waiting.length > 0 ? state.askedAt : index + 1)
    const stream: Leg = { run: stored.run.id, leg: start.leg }
    return {
      view,
      leg: stream,
      restart: start.restart,
      position,
      pausesFrom,
      from: view.nearest({ event: Math.min(pausesFrom, index), frame: position }),
      ...(startIndex < 0 && { tail: shown.position - 1 }),
    }
  }
}

/** Whether a view ended because output was retracted that its clients have. */
function isCut(shown: ChatState, { message }: ChatState): boolean {
  return shown.visibility === 'ended' && message.restart > 0
}

/** Negative: the last chunks. */
function positionIn({ position }: ChatState, startIndex: number, isRestarted: boolean): number {
  if (startIndex < 0) return Math.max(0, position + startIndex)
  if (startIndex > 0 && isRestarted)
    throw new HoldfastError('cursor_expired', 'output before this position was retracted: replay the stream from 0')
  if (startIndex <= position) return startIndex
  throw new HoldfastError(
    'cursor_invalid',
    `startIndex: the stream has ${position} chunks, so ${startIndex} is beyond its end`,
  )
}

export function isUnfinished({ run }: StoredRun): boolean {
  return !isFinished(run.status)
}
