/** The views of every protocol, with their encodings and where a client can resume. */
import type { Encoding } from '../../src/core/delivery/shared-view.ts'
import type { ViewKind } from '../../src/core/delivery/view-cache.ts'
import { defaultLimits } from '../../src/core/model/limits.ts'
import { shownIn } from '../../src/protocols/a2a/routes/streams.ts'
import { taskKind } from '../../src/protocols/a2a/view/task-cursor.ts'
import { sseWire } from '../../src/protocols/agentos/routes/follow.ts'
import { agentosProjection } from '../../src/protocols/agentos/view/projection.ts'
import { chatKind } from '../../src/protocols/openai/chat/projection.ts'
import { chatWire } from '../../src/protocols/openai/chat/routes.ts'
import { responseKind } from '../../src/protocols/openai/responses/projection.ts'
import { responseWire } from '../../src/protocols/openai/responses/stream.ts'

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

export const testedViews: readonly TestedView[] = [
  tested(agentos, sseWire('run_x', defaultLimits), agentos.position, ({ index }) => index),
  tested(chatKind({ part: 0, includeUsage: true, progress: true }), chatWire, () => 0),
  tested(responseKind(0), responseWire, sequenceOf, sequenceOf),
  tested(responseKind(1), responseWire, sequenceOf, sequenceOf),
  tested(
    taskKind,
    { key: 'test', encode: (frame) => `id: ${frame.sequence}\ndata: ${JSON.stringify(shownIn(frame))}\n\n` },
    sequenceOf,
    sequenceOf,
  ),
]
