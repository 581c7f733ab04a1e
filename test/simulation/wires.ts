/** The protocols that subscribers of a simulation follow: the real projections, without HTTP. */
import type { Projection } from '../../src/core/ports/projection.ts'
import { taskProjection, type TaskFrame } from '../../src/protocols/a2a/view/projection.ts'
import { agentosProjection } from '../../src/protocols/agentos/view/projection.ts'
import { completionProjection } from '../../src/protocols/openai/chat/projection.ts'
import { responseProjection } from '../../src/protocols/openai/responses/projection.ts'
import { agentKind } from '../../src/protocols/ag-ui/view/projection.ts'
import { chatProjection as uiProjection } from '../../src/ai-sdk/view/projection.ts'
import type { ProjectedWire, Wire } from './plan.ts'

const projections = {
  agentos: agentosProjection((id) => ({ kind: 'agent', name: id })),
  responses: responseProjection(0),
  chat: completionProjection({ part: 0 }),
  a2a: taskProjection,
  'ai-sdk': uiProjection({ leg: 0, restart: 0, tools: 'dynamic' }),
  'ag-ui': agentKind.projection,
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

const SUCCESS: Readonly<Record<ProjectedWire, RegExp>> = {
  agentos: /"RunCompleted"/,
  responses: /"type":"response\.completed"/,
  chat: /"finish_reason":"stop"/,
  a2a: /TASK_STATE_COMPLETED/,
  'ai-sdk': /"type":"finish".*"status":"completed"/,
  'ag-ui': /"type":"RUN_FINISHED".*"outcome":\{"type":"success"\}/,
}
/** The stream reports that it ended before the run, because output that it had sent was retracted. */
const CUT = /withdrawn|retract/i

/** Whether the frames report success; undefined if the stream does not report the outcome. */
export function isSuccess(wire: Wire, frames: readonly string[]): boolean | undefined {
  if (wire === 'native' || frames.some((frame) => CUT.test(frame))) return undefined
  // A message of the AI SDK may end before its run does: the rest is in further messages.
  if (wire === 'ai-sdk' && !frames.some((frame) => frame.includes('"end":"run"'))) return undefined
  // The end of a called component is not the end of the run.
  return frames.some((frame) => SUCCESS[wire].test(frame) && !frame.includes('"parent_run_id"'))
}
