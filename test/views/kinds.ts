/** The views of every protocol, with their encodings and where a client can resume. */
import type { Encoding } from '../../src/core/delivery/encoded.ts'
import type { ViewKind } from '../../src/core/delivery/view-cache.ts'
import { defaultLimits } from '../../src/core/model/limits.ts'
import { RESUME_EXTENSION } from '../../src/a2a/resume.ts'
import { fromStream } from '../../src/protocols/a2a/legacy/result.ts'
import { frameEncoding, type StreamEncoding } from '../../src/protocols/a2a/routes/streams.ts'
import { taskKind } from '../../src/protocols/a2a/view/task-cursor.ts'
import type { TaskFrame } from '../../src/protocols/a2a/view/projection.ts'
import type { ChatFrame } from '../../src/ai-sdk/view/state.ts'
import type { ComponentKind } from '../../src/core/ports/component.ts'
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
  readonly name: string
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
  name = kind.name,
): TestedView {
  return { name, kind, wire, countOf, ...(positionOf !== undefined && { positionOf }) } as unknown as TestedView
}

const sequenceOf = ({ sequence }: { readonly sequence: number }): number => sequence

/** Each kind of component has its own event names. */
function agentos(root: ComponentKind): TestedView {
  const kind = {
    name: `agentos ${root}`,
    projection: agentosProjection((id) => ({ kind: root, name: id })),
    position: ({ next }: { readonly next: number }) => next,
    mayEnd: ({ pauses }: { readonly pauses: boolean }) => pauses,
  }
  return tested(kind, sseFrameFormat('run_x', defaultLimits), kind.position, ({ index }) => index)
}

/** All versions of A2A share one fold. */
function a2a(
  name: string,
  encoding: Pick<StreamEncoding, 'key' | 'event'>,
  extensions: readonly string[] = [],
): TestedView {
  const envelope = { before: '{"jsonrpc":"2.0","id":1,"result":', after: '}' }
  const wire = frameEncoding({ extensions: new Set(extensions) }, { view: {}, gap: false }, { ...encoding, envelope })
  return tested(taskKind, wire, sequenceOf, ({ sequence }: TaskFrame) => sequence, name)
}

const a2aCurrent = { key: '1.0', event: (response: object) => response }

/** A client counts chunks; what closes a stream at a pause, or cuts it, has no number. */
function aiSdkPosition({ chunk, position, closes }: ChatFrame): number {
  return typeof chunk === 'object' && closes !== true ? position : Number.NaN
}

export const testedViews: readonly TestedView[] = [
  agentos('team'),
  agentos('workflow'),
  tested(completionKind({ part: 0, includeUsage: true, progress: true }), completionFrameFormat, () => 0),
  tested(responseKind(0), responseFrameFormat, sequenceOf, sequenceOf),
  tested(responseKind(1), responseFrameFormat, sequenceOf, sequenceOf),
  a2a('A2A 1.0', a2aCurrent),
  a2a('A2A 1.0 with positions', a2aCurrent, [RESUME_EXTENSION]),
  a2a('A2A 0.3', { key: 'rpc 0.3', event: fromStream }),
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

/** Without those that only differ in their encoding or in the part of a run that they show. */
export const testedKinds: readonly ViewKind<unknown, unknown>[] = [
  ...new Set(testedViews.map(({ kind }) => kind).filter(({ name }) => !/1/.test(name))),
]
