/**
 * Attaches a client to a run: sends a snapshot (messages, state, open tool calls), then live events. Stock clients render this
 * correctly; a replay would duplicate messages they already show.
 */
import { CONTENT_LIMIT_FACTOR } from '../../../core/model/limits.ts'
import type { Checkpoint, SharedView } from '../../../core/delivery/shared-view.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import { shareEventLoop } from '../../../core/runtime/share-event-loop.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { attributionOf, textStarts } from '../view/agent-writer.ts'
import { started } from '../view/lifecycle.ts'
import { MessageBuilder } from '../view/messages.ts'
import { nodesOf, pieceOf } from '../view/piece-list.ts'
import { pausedEnd } from '../view/project-pauses.ts'
import { agentStart, stepStart } from '../view/project-work.ts'
import type { AgentFrame, AgentState } from '../view/state.ts'
import type { AgUiEvent, AgUiMessage } from '../wire/events.ts'
import { isMessageOf } from '../wire/ids.ts'
import type { GivenMessage } from './shapes.ts'
import type { Threads } from './threads.ts'

/** The stream of one client. */
export interface AttachedStream {
  readonly view: SharedView<AgentState, AgentFrame>
  readonly run: string
  readonly session: string
  /** The client's id of the run. Default: that of the view. */
  readonly runId?: string
  /** Messages of other runs, which every snapshot must repeat. */
  readonly earlier: readonly (GivenMessage | AgUiMessage)[]
  /** Tool calls whose results the client has because it sent them. Default: none. */
  readonly results?: ReadonlySet<string>
  /** Sent first. */
  readonly snapshot?: readonly AgUiEvent[]
  /** No event follows the snapshot. */
  readonly hasEnded?: boolean
  /** Checkpoint after which the subscription starts. Default: the beginning. */
  readonly from?: Checkpoint<AgentState>
  /** Number of answers before the first frame to send. Default: the first frame of the view. */
  readonly leg?: number
  /** Number of the last frame that the client has. Default: none. */
  readonly after?: number
}

/** Pieces folded before others get the event loop. */
const AT_ONCE = 256

export async function attach(
  threads: Threads,
  stored: StoredRun,
  { runId, messages }: { readonly runId?: string; readonly messages: readonly (GivenMessage | AgUiMessage)[] },
): Promise<AttachedStream> {
  const view = threads.view(stored)
  const from = await view.current(stored.next)
  const { state } = from
  const { id, session } = stored.run
  const own = await messagesOfRun(threads, state)
  const results = new Set(own.map(({ toolCallId }) => toolCallId))
  const earlier = messages.filter(
    (message) => !isMessageOf(id, message.id) && !(message.role === 'tool' && results.has(message.toolCallId)),
  )
  const { events, hasEnded } = snapshotOf(state, own)
  return {
    view,
    run: id,
    session,
    ...(runId !== undefined && { runId }),
    earlier,
    snapshot: events,
    hasEnded,
    from,
  }
}

/** Builds the snapshot for a client that attaches now. */
export function snapshotOf(
  state: AgentState,
  messages: readonly AgUiMessage[],
): { readonly events: readonly AgUiEvent[]; readonly hasEnded: boolean } {
  const end = state.waiting.length > 0 ? pausedEnd(state) : state.end
  const events = [
    started(state),
    ...(state.state === undefined ? [] : [{ type: 'STATE_SNAPSHOT', snapshot: state.state } as const]),
    { type: 'MESSAGES_SNAPSHOT', messages } as const,
    ...(end === undefined ? openIn(state) : [end]),
  ]
  return { events, hasEnded: end !== undefined }
}

/** Built in time slices. Throws `too_large` if the messages exceed one response. */
export async function messagesOfRun(
  { service }: Threads,
  { run, pieces }: AgentState,
): Promise<readonly AgUiMessage[]> {
  const builder = new MessageBuilder()
  let charsLeft = CONTENT_LIMIT_FACTOR * service.limits.maxResponseBytes
  let count = 0
  for (const node of nodesOf(pieces)) {
    const piece = pieceOf(node)
    builder.add(piece)
    charsLeft -= 'text' in piece ? piece.text.length : 'content' in piece ? piece.content.length : 0
    if (charsLeft < 0)
      throw new HoldfastError(
        'too_large',
        `the messages of run ${run} are too large to attach to; use the native protocol`,
      )
    const turn = ++count % AT_ONCE === 0 ? shareEventLoop() : undefined
    if (turn !== undefined) await turn
  }
  return builder.messages()
}

/** Start events of everything that is open, so that later events refer to known items. */
function openIn(state: AgentState): readonly AgUiEvent[] {
  const { agents, steps, texts, calls } = state
  return [
    ...Array.from(agents.values(), (agent) => agentStart(state, agent)),
    ...Array.from(steps.values(), stepStart),
    ...[...texts.values()].flatMap(textStarts),
    ...Array.from(calls, ([toolCallId, { name, actor, isDrafted }]) =>
      isDrafted ? [{ type: 'TOOL_CALL_START', toolCallId, toolCallName: name, ...attributionOf(actor) } as const] : [],
    ).flat(),
  ]
}
