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

/** A run that ended this recently is replayed, for pages that were loaded meanwhile. */
const RECENT_MS = 60_000

export type ToolParts = ChatView['tools']

export interface FoundStream {
  readonly stored: StoredRun
  /** The message that the id refers to. */
  readonly named?: Leg
  /** The id refers to the message itself, not only to the run. */
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

  /** The run that a returning client wants to see: the newest unfinished one, or one that has just ended. */
  async current(principal: Principal, component: Component, session: string): Promise<StoredRun | undefined> {
    const [unfinished] = await this.unfinished(principal, component, session)
    if (unfinished !== undefined) return unfinished
    const newest = await this.newest(principal, component, session)
    const ended = newest?.run.finishedAt
    return ended !== undefined && this.#clock.now() - Date.parse(ended) < RECENT_MS ? newest : undefined
  }

  /** The stream for the id of a chat, a run or a stream. Undefined if there is nothing to resume. */
  async find(principal: Principal, component: Component, id: string): Promise<FoundStream | undefined> {
    const named = parseStreamId(id)
    const stored =
      named === undefined
        ? await this.current(principal, component, id)
        : await this.run(principal, component, named.run)
    return stored && { stored, ...(named !== undefined && { named, isNamed: id.includes('~') }) }
  }

  /** A run id refers to its current message, unless the client counts chunks. */
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

  /** The current state of a run's chat. */
  async state(stored: StoredRun, tools: ToolParts): Promise<Checkpoint<ChatState>> {
    return this.view(stored, { leg: 0, restart: 0, tools }).current(stored.next)
  }

  /** The stream of a new run. */
  fresh(stored: StoredRun, tools: ToolParts): ChatStream {
    return { view: this.view(stored, { leg: 0, restart: 0, tools }), leg: { run: stored.run.id, leg: 0 } }
  }

  /** The stream of a message, or the replay of the current one; from a chunk on if `startIndex` is given. */
  async stream(
    stored: StoredRun,
    { leg, startIndex = 0, tools }: { readonly leg?: number; readonly startIndex?: number; readonly tools: ToolParts },
  ): Promise<ChatStream> {
    const { state, index } = await this.state(stored, tools)
    const start = leg === undefined ? state.message : { leg, restart: 0 }
    if (start.leg > state.leg)
      throw new HoldfastError(
        'not_found',
        `run ${stored.run.id} has no stream ${start.leg}: it was answered ${state.leg} times`,
      )
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
      replayed: shown.position - position,
      from: view.nearest({ event: Math.min(pausesFrom, index), frame: position }),
      ...(startIndex < 0 && { tail: shown.position - 1 }),
    }
  }
}

/** Whether a view ended because output that clients have was retracted. */
function isCut(shown: ChatState, { message }: ChatState): boolean {
  return shown.visibility === 'ended' && message.restart > 0
}

/** A negative index counts from the end. */
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
