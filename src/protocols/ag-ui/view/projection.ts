/** Projects a log to AG-UI events. */
import type { ViewKind } from '../../../core/delivery/view-cache.ts'
import type { LoggedEvent, LoggedEventOf } from '../../../core/model/event.ts'
import { applyPatch } from '../../../core/model/json-patch.ts'
import type { Run } from '../../../core/model/run.ts'
import type { Projection } from '../../../core/ports/projection.ts'
import { AgentWriter } from './agent-writer.ts'
import { addUsage, finished, started, usageIn } from './lifecycle.ts'
import { pause, resume } from './project-pauses.ts'
import { callTool, draftTool, endTool, showProgress, textOf } from './project-tools.ts'
import { closeAll, endAgent, endStep, reopenAll, startAgent, startStep } from './project-work.ts'
import { retract } from './retract.ts'
import type { AgentFrame, AgentState } from './state.ts'

const agentProjection: Projection<AgentState, AgentFrame> = {
  initial: (run) => ({
    run: run.id,
    thread: run.session,
    runId: givenRunId(run) ?? run.id,
    leg: 0,
    pieces: undefined,
    texts: new Map(),
    calls: new Map(),
    steps: new Map(),
    agents: new Map(),
    spent: new Set(),
    hasText: false,
    state: undefined,
    usage: new Map(),
    waiting: [],
    answered: new Set(),
    end: undefined,
    position: 0,
  }),
  apply(state, event) {
    const writer = new AgentWriter(state, event)
    project(writer, event)
    const [first] = writer.frames
    if (state.end === undefined || first === undefined || first.event.type === 'RUN_STARTED') return writer.step
    // An event after the end of an AG-UI run: parallel work continues while one branch asks, or the run is stopped.
    const next = new AgentWriter({ ...state, end: undefined }, event)
    next.show(started(next.state))
    reopenAll(next)
    project(next, event)
    return next.step
  },
}

export const agentKind: ViewKind<AgentState, AgentFrame> = {
  name: 'ag-ui',
  projection: agentProjection,
  position: ({ position }) => position,
  mayEnd: ({ ends }) => ends === true,
}

/** The id that the AG-UI client gave to the run it started. */
export function givenRunId({ metadata }: Pick<Run, 'metadata'>): string | undefined {
  const { runId } = (metadata?.['agUi'] ?? {}) as { readonly runId?: unknown }
  return typeof runId === 'string' ? runId : undefined
}

function project(writer: AgentWriter, event: LoggedEvent): void {
  switch (event.type) {
    case 'run.created':
      return writer.show(started(writer.state))
    case 'run.paused':
      return pause(writer, event)
    case 'run.resumed':
      return resume(writer, event)
    case 'run.completed':
      return complete(writer, event)
    case 'run.failed':
      return fail(writer, event.data.error)
    case 'run.rejected':
      return fail(writer, { code: 'rejected', message: event.data.reason })
    case 'run.cancelled':
      return cancel(writer)
    case 'attempt.discarded':
      return retract(writer, event)
    case 'text.delta':
      return writer.say('text', event.data.text, event.data.message)
    case 'reasoning.delta':
      return writer.say('reasoning', event.data.text, event.data.message)
    case 'text.completed':
    case 'reasoning.completed':
      return writer.closeText()
    case 'tool.drafted':
      return draftTool(writer, event)
    case 'tool.called':
      return callTool(writer, event)
    case 'tool.progressed':
      return showProgress(writer, event)
    case 'tool.completed':
    case 'tool.failed':
      return endTool(writer, event)
    case 'model.responded':
      return countUsage(writer, event)
    case 'step.started':
      return startStep(writer, event)
    case 'step.completed':
    case 'step.failed':
    case 'step.skipped':
      return endStep(writer, event)
    case 'actor.started':
      return startAgent(writer, event)
    case 'actor.completed':
    case 'actor.failed':
      return endAgent(writer, event)
    case 'artifact.added':
      return custom(writer, 'holdfast.artifact', event.data)
    case 'source.cited':
      return custom(writer, 'holdfast.source', event.data)
    case 'custom.emitted':
      return custom(writer, event.data.name, event.data.value ?? null)
    case 'state.replaced':
      return replaceState(writer, event.data.state)
    case 'state.patched':
      return patchState(writer, event)
    default:
      return undefined
  }
}

function complete(writer: AgentWriter, { data: { output } }: LoggedEventOf<'run.completed'>): void {
  closeAll(writer, (subagentRunId) => ({ type: 'SUBAGENT_FINISHED', subagentRunId }))
  // An output that was not streamed becomes the text.
  if (!writer.state.hasText && output !== undefined && output !== '') {
    writer.say('text', textOf(output), undefined)
    writer.closeText()
  }
  writer.end(finished(writer.state, { type: 'success' }, output))
}

function cancel(writer: AgentWriter): void {
  const message = 'its run was cancelled'
  closeAll(writer, (subagentRunId) => ({ type: 'SUBAGENT_ERROR', subagentRunId, message, code: 'cancelled' }))
  writer.end(finished(writer.state, { type: 'cancelled' }))
}

function fail(writer: AgentWriter, { code, message }: { readonly code: string; readonly message: string }): void {
  closeAll(writer, (subagentRunId) => ({ type: 'SUBAGENT_ERROR', subagentRunId, message: 'its run failed', code }))
  writer.end({ type: 'RUN_ERROR', message: message === '' ? code : message, code, ...usageIn(writer.state) })
}

function countUsage(writer: AgentWriter, { data: { model, usage } }: LoggedEventOf<'model.responded'>): void {
  const counted = new Map(writer.state.usage)
  writer.set({ usage: counted.set(model, addUsage(counted.get(model) ?? { model }, usage)) })
}

function custom(writer: AgentWriter, name: string, value: unknown): void {
  writer.show({ type: 'CUSTOM', name, value, ...writer.by() })
}

function replaceState(writer: AgentWriter, state: unknown): void {
  setState(writer, state)
  writer.show({ type: 'STATE_SNAPSHOT', snapshot: state, ...writer.by() })
}

/** Skips a patch that does not apply to the state: it would end the client's stream. */
function patchState(writer: AgentWriter, { data: { patch } }: LoggedEventOf<'state.patched'>): void {
  const patched = applyPatch(writer.state.state ?? {}, patch)
  if (patched === undefined) return
  setState(writer, patched.document)
  writer.show({ type: 'STATE_DELTA', delta: patch, ...writer.by() })
}

function setState(writer: AgentWriter, state: unknown): void {
  writer.set({ state })
  writer.keep({ kind: 'state', state })
}
