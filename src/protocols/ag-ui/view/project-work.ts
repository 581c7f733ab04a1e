/** Projects steps, and called components as subagents. */
import type { LoggedEventOf } from '../../../core/model/event.ts'
import { isWithin } from '../../../core/structure/actors.ts'
import type { AgUiEvent } from '../wire/events.ts'
import { type AgentWriter, attributionOf } from './agent-writer.ts'
import { closeCalls } from './project-tools.ts'
import type { AgentState, OpenAgent, OpenStep } from './state.ts'

export function startStep(writer: AgentWriter, { data, index }: LoggedEventOf<'step.started'>): void {
  // A model request is not shown as a step: its text and tool calls are shown instead.
  if (data.kind === 'model') return
  const { actor } = writer
  const key = stepKey(actor, data.step)
  if (writer.state.steps.has(key)) return
  writer.closeText()
  const name = uniqueName(writer, actor, data.name)
  const step = { name, actor, log: index, recorded: data.key !== undefined }
  writer.put('steps', key, step)
  writer.show(stepStart(step))
}

export function endStep(
  writer: AgentWriter,
  { data }: LoggedEventOf<'step.completed' | 'step.failed' | 'step.skipped'>,
): void {
  closeStep(writer, stepKey(writer.actor, data.step))
}

export function startAgent(writer: AgentWriter, { data, actor, run }: LoggedEventOf<'actor.started'>): void {
  if (actor === undefined || writer.state.agents.has(actor.run)) return
  const { run: id, component, parent: caller = run } = actor
  const parent = caller === run ? '' : caller
  writer.closeText(parent)
  writer.keep({ kind: 'agent', id }, { recorded: data.key !== undefined })
  if (writer.state.spent.has(id)) return
  writer.put('agents', id, { id, component, parent })
  writer.show(agentStart(writer.state, writer.state.agents.get(id)!))
}

export function agentStart({ agents }: AgentState, { id, component, parent }: OpenAgent): AgUiEvent {
  return {
    type: 'SUBAGENT_STARTED',
    subagentRunId: id,
    name: component,
    ...(agents.has(parent) && { parentSubagentRunId: parent }),
  }
}

export function endAgent(writer: AgentWriter, event: LoggedEventOf<'actor.completed' | 'actor.failed'>): void {
  const { actor } = writer
  closeWithin(writer, actor)
  if (!writer.state.agents.has(actor)) return
  if (event.type === 'actor.failed') {
    const { message, code } = event.data.error
    writer.show({ type: 'SUBAGENT_ERROR', subagentRunId: actor, message, code })
  } else {
    const { output: result } = event.data
    writer.show({ type: 'SUBAGENT_FINISHED', subagentRunId: actor, ...(result !== undefined && { result }) })
  }
  writer.put('agents', actor, undefined)
}

/** Closes all open items of an actor and its callees, but not the actor. */
function closeWithin(writer: AgentWriter, outer: string): void {
  for (const actor of writer.state.texts.keys()) if (isWithin(actor, outer)) writer.closeText(actor)
  closeCalls(writer, ({ actor }) => isWithin(actor, outer))
  for (const [key, { actor }] of writer.state.steps) if (isWithin(actor, outer)) closeStep(writer, key)
  for (const id of innermostFirst(writer.state))
    if (id !== outer && isWithin(id, outer)) {
      writer.show({ type: 'SUBAGENT_FINISHED', subagentRunId: id })
      writer.put('agents', id, undefined)
    }
}

/**
 * Closes all open items before an AG-UI run ends. They are kept in the state, because the work continues after an answer. `endOf`:
 * the end event of a called component.
 */
export function closeAll(writer: AgentWriter, endOf: (subagentRunId: string) => AgUiEvent): void {
  const { steps } = writer.state
  for (const actor of writer.state.texts.keys()) writer.closeText(actor)
  closeCalls(writer, () => true)
  for (const { name: stepName, actor } of [...steps.values()].toReversed())
    writer.show({ type: 'STEP_FINISHED', stepName, ...writer.by(actor) })
  for (const id of innermostFirst(writer.state)) writer.show(endOf(id))
}

export function suspended(subagentRunId: string): AgUiEvent {
  return { type: 'SUBAGENT_FINISHED', subagentRunId, outcome: { type: 'suspended' } }
}

/** Shows all open items again, at the start of an AG-UI run. */
export function reopenAll(writer: AgentWriter): void {
  for (const agent of writer.state.agents.values()) writer.show(agentStart(writer.state, agent))
  for (const step of writer.state.steps.values()) writer.show(stepStart(step))
}

export function stepStart({ name: stepName, actor }: OpenStep): AgUiEvent {
  return { type: 'STEP_STARTED', stepName, ...attributionOf(actor) }
}

export function closeStep(writer: AgentWriter, key: string): void {
  const step = writer.state.steps.get(key)
  if (step === undefined) return
  writer.closeText(step.actor)
  writer.show({ type: 'STEP_FINISHED', stepName: step.name, ...writer.by(step.actor) })
  writer.put('steps', key, undefined)
}

/** Callees come after their callers. */
function innermostFirst({ agents }: AgentState): readonly string[] {
  return [...agents.keys()].toReversed()
}

function stepKey(actor: string, step: string): string {
  return `${actor} ${step}`
}

/** Clients identify the open steps of an actor by name, so names must be unique. */
function uniqueName(writer: AgentWriter, whose: string, name: string): string {
  const isOpen = (candidate: string): boolean =>
    [...writer.state.steps.values()].some((step) => step.actor === whose && step.name === candidate)
  let unique = name
  for (let number = 2; isOpen(unique); number++) unique = `${name} (${number})`
  return unique
}
