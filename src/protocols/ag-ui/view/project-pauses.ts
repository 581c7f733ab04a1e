/** Projects questions and answers. An AG-UI run ends when its Holdfast run pauses; the answer starts the next AG-UI run. */
import { isObject } from '../../../core/model/is-object.ts'
import { type QuestionToolCall, questionToolCall } from '../../../core/structure/question-tool-call.ts'
import type { LoggedEventOf, Question } from '../../../core/model/event.ts'
import { actorKey } from '../../../core/structure/actors.ts'
import type { Interrupt, Outcome, RunFinished } from '../wire/events.ts'
import { toCallId, toInterruptId } from '../wire/ids.ts'
import { type AgentWriter, attributionOf } from './agent-writer.ts'
import { finished, started } from './lifecycle.ts'
import { addCall, answerCall } from './project-tools.ts'
import { closeAll, reopenAll, suspended } from './project-work.ts'
import type { AgentState } from './state.ts'

export function pause(writer: AgentWriter, { data: { questions }, run }: LoggedEventOf<'run.paused'>): void {
  for (const question of questions) showCall(writer, run, question)
  writer.set({ waiting: questions })
  endAtPause(writer)
}

export function resume(writer: AgentWriter, { data: { answers } }: LoggedEventOf<'run.resumed'>): void {
  // Other branches continued while one asked.
  if (writer.state.end === undefined) endAtPause(writer)
  const { answered, leg, waiting } = writer.state
  writer.set({
    leg: leg + 1,
    waiting: [],
    end: undefined,
    spent: new Set(),
    answered: new Set([...answered, ...Object.keys(answers)]),
  })
  writer.show(started(writer.state))
  reopenAll(writer)
  for (const question of waiting) showAnswer(writer, question, answers[question.id])
}

/** The answer becomes the result of a call that the client executed, or that was made up for a question. */
function showAnswer(writer: AgentWriter, question: Question, answer: unknown): void {
  const { run } = writer.event
  const call = questionToolCall(run, question)
  if (call !== undefined && answer !== undefined && (question.kind === 'tool' || call.isSynthetic))
    answerCall(writer, idOf(run, call), answer)
}

function endAtPause(writer: AgentWriter): void {
  closeAll(writer, suspended)
  writer.end(pausedEnd(writer.state))
}

/** The event that ends an AG-UI run while the Holdfast run waits. */
export function pausedEnd(state: AgentState): RunFinished {
  return finished(state, outcomeOf(state))
}

/** Shows the call that a client is to approve or execute. */
function showCall(writer: AgentWriter, run: string, question: Question): void {
  const call = questionToolCall(run, question)
  if (call === undefined) return
  const { toolName: name, input } = call
  addCall(writer, idOf(run, call), { name, input, recorded: false, actor: actorKey(question.actor) })
}

function outcomeOf({ run, waiting }: AgentState): Outcome {
  const calls = waiting.map((question) => ({ question, call: questionToolCall(run, question) }))
  if (calls.every(({ question, call }) => question.kind === 'tool' && call !== undefined))
    return { type: 'success', pendingToolCallIds: calls.map(({ call }) => idOf(run, call!)) }
  const interrupts = calls.map(({ question, call }) => toInterrupt(run, question, call))
  return { type: 'interrupt', interrupts }
}

function toInterrupt(
  run: string,
  { id, kind, prompt, schema, deadline, details, actor }: Question,
  call: QuestionToolCall | undefined,
): Interrupt {
  return {
    id: toInterruptId(run, id),
    reason: kind === 'approval' ? 'tool_approval' : kind,
    message: prompt,
    ...(call !== undefined && { toolCallId: idOf(run, call) }),
    ...(isObject(schema) && { responseSchema: schema }),
    ...(deadline !== undefined && { expiresAt: deadline }),
    ...attributionOf(actorKey(actor)),
    ...(details !== undefined && { metadata: { holdfast: { details } } }),
  }
}

function idOf(run: string, { toolCallId }: QuestionToolCall): string {
  return toCallId(run, toolCallId)
}
