/** The views of every protocol, with their encodings and where a client can resume. */
import type { Encoding } from '../../src/core/delivery/encoded.ts'
import type { ViewKind } from '../../src/core/delivery/view-cache.ts'
import { defaultLimits } from '../../src/core/model/limits.ts'
import { updateFor } from '../../src/protocols/a2a/routes/streams.ts'
import { taskKind } from '../../src/protocols/a2a/view/task-cursor.ts'
import type { ChatFrame } from '../../src/ai-sdk/view/state.ts'
import { sseFrameFormat } from '../../src/protocols/agentos/routes/follow.ts'
import { agentosProjection } from '../../src/protocols/agentos/view/projection.ts'
import { chatKind as aiSdkKind } from '../../src/ai-sdk/view/projection.ts'
import { agentKind } from '../../src/protocols/ag-ui/view/projection.ts'
import { agentFrameFormat } from '../../src/protocols/ag-ui/wire/stream.ts'
import { callKind } from '../../src/protocols/mcp/view/projection.ts'
import { callFrameFormat } from '../../src/protocols/mcp/wire/stream.ts'
import { chatFrameFormat as aiSdkFrameFormat } from '../../src/protocols/ai-sdk/wire/stream.ts'
import { completionKind } from '../../src/protocols/openai/chat/projection.ts'
import { completionFrameFormat } from '../../src/protocols/openai/chat/routes.ts'
import { responseKind } from '../../src/protocols/openai/responses/projection.ts'
import { responseFrameFormat } from '../../src/protocols/openai/responses/stream.ts'

export interface TestedView {
  readonly kind: ViewKind<unknown, unknown>
  readonly wire: Encoding<unknown>
  /** The position of a frame, where frames have one. */
  readonly positionOf?: (frame: unknown) => number
  /** Number of frames that have one. */
  readonly countOf: (state: unknown) => number
}

function tested<State, Frame>(
  kind: ViewKind<State, Frame>,
  wire: Encoding<Frame>,
  countOf: (state: State) => number,
  positionOf?: (frame: Frame) => number,
): TestedView {
  return { kind, wire, countOf, ...(positionOf !== undefined && { positionOf }) } as unknown as TestedView
}

const sequenceOf = ({ sequence }: { readonly sequence: number }): number => sequence

const agentos = {
  name: 'agentos test',
  projection: agentosProjection((id) => ({ kind: 'team', name: id })),
  position: ({ next }: { readonly next: number }) => next,
  mayEnd: ({ pauses }: { readonly pauses: boolean }) => pauses,
}

/** A client counts chunks; what closes a stream at a pause, or cuts it, has no number. */
function aiSdkPosition({ chunk, position, closes }: ChatFrame): number {
  return typeof chunk === 'object' && closes !== true ? position : Number.NaN
}

export const testedViews: readonly TestedView[] = [
  tested(agentos, sseFrameFormat('run_x', defaultLimits), agentos.position, ({ index }) => index),
  tested(completionKind({ part: 0, includeUsage: true, progress: true }), completionFrameFormat, () => 0),
  tested(responseKind(0), responseFrameFormat, sequenceOf, sequenceOf),
  tested(responseKind(1), responseFrameFormat, sequenceOf, sequenceOf),
  tested(
    taskKind,
    { key: 'test', encode: (frame) => `id: ${frame.sequence}\ndata: ${JSON.stringify(updateFor(frame))}\n\n` },
    sequenceOf,
    sequenceOf,
  ),
  ...[
    { leg: 0, restart: 0 },
    { leg: 1, restart: 0 },
    { leg: 0, restart: 1 },
  ].map((start) => {
    const kind = aiSdkKind({ ...start, tools: 'dynamic' })
    return tested(kind, aiSdkFrameFormat, kind.position, aiSdkPosition)
  }),
  tested(callKind, callFrameFormat({ id: 'run_x', session: 's' }), callKind.position, ({ position }) => position),
  tested(agentKind, agentFrameFormat({ earlier: [] }), agentKind.position, ({ position }) => position),
]
