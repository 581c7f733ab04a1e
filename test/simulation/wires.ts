/** The protocols that subscribers of a simulation follow: the real projections, without HTTP. */
import type { Projection } from '../../src/core/ports/projection.ts'
import { taskProjection, type TaskFrame } from '../../src/protocols/a2a/view/projection.ts'
import { agentosProjection } from '../../src/protocols/agentos/view/projection.ts'
import { chatProjection } from '../../src/protocols/openai/chat/projection.ts'
import { responseProjection } from '../../src/protocols/openai/responses/projection.ts'
import type { Wire } from './plan.ts'

const projections = {
  agentos: agentosProjection((id) => ({ kind: 'agent', name: id })),
  responses: responseProjection(0),
  chat: chatProjection({ part: 0 }),
  a2a: taskProjection,
} as const

/** The native wire has none: its frames are the records. */
export function projectionOf(wire: Wire): Projection<unknown, unknown> | undefined {
  return wire === 'native' ? undefined : projections[wire]
}

export function textOf(frame: unknown): string {
  const { fold: _fold, ...shown } = frame as TaskFrame
  const { data } = frame as { readonly data?: unknown } // AgentOS builds it when it is read
  return JSON.stringify(data === undefined ? shown : { ...shown, data })
}

const SUCCESS: Readonly<Record<Exclude<Wire, 'native'>, RegExp>> = {
  agentos: /"RunCompleted"/,
  responses: /"type":"response\.completed"/,
  chat: /"finish_reason":"stop"/,
  a2a: /TASK_STATE_COMPLETED/,
}
/** The stream ended before the run did, and says so: output that it had sent was retracted. */
const CUT = /withdrawn|retract/i

/** Whether the frames report success; undefined if the stream does not report the outcome. */
export function isSuccess(wire: Wire, frames: readonly string[]): boolean | undefined {
  if (wire === 'native' || frames.some((frame) => CUT.test(frame))) return undefined
  // The end of a called component is not the end of the run.
  return frames.some((frame) => SUCCESS[wire].test(frame) && !frame.includes('"parent_run_id"'))
}
