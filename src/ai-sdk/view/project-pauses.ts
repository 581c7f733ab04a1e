/** Projects questions and answers. A stream ends when its run pauses; the answer starts the next stream. */
import type { Question, LoggedEventOf } from '../../core/model/event.ts'
import { actorKey } from '../../core/structure/actors.ts'
import type { ChatWriter } from './chat-writer.ts'
import { newestChunks } from './chunk-list.ts'
import { addCall, dynamicIn } from './project-tools.ts'
import { questionToolCall, decisionOf } from '../../core/structure/question-tool-call.ts'

export function pause(writer: ChatWriter, { data: { questions }, run, index }: LoggedEventOf<'run.paused'>): void {
  writer.closeText()
  // The log will not repeat client results that it has not repeated by now.
  const tools = [...writer.state.tools].filter(([, { state }]) => state !== 'answered')
  if (tools.length < writer.state.tools.size) writer.set({ tools: new Map(tools) })
  const known = new Set(writer.state.waiting.map(({ id }) => id))
  for (const question of questions) if (!known.has(question.id)) ask(writer, question)
  writer.set({ waiting: questions, askedAt: index, pausedAt: writer.state.pausedAt ?? index })
  const isForTools = questions.every((question) => questionToolCall(run, question) !== undefined)
  writer.close('pause', [
    { type: 'finish-step' },
    { type: 'finish', finishReason: isForTools ? 'tool-calls' : 'other' },
  ])
}

function ask(writer: ChatWriter, question: Question): void {
  const { id, kind, prompt } = question
  const call = questionToolCall(writer.event.run, question)
  if (call === undefined) return writer.emit({ type: 'data-holdfast-question', id, data: question })
  const { toolCallId, toolName: name, input, isSynthetic } = call
  const actor = actorKey(question.actor)
  addCall(writer, toolCallId, { name, input, actor, recorded: false, ...(isSynthetic && { about: { asks: true } }) })
  const { step } = writer.state.tools.get(toolCallId)!
  if (kind === 'approval')
    writer.emit({ type: 'tool-approval-request', approvalId: id, toolCallId, reason: prompt }, { step, actor })
}

export function resume(writer: ChatWriter, { data: { answers }, run }: LoggedEventOf<'run.resumed'>): void {
  const { waiting, pausedAt = -1, leg: before, chunks } = writer.state
  const leg = before + 1
  const isNewMessage = waiting.some((question) => questionToolCall(run, question) === undefined)
  const answered = new Map(writer.state.answered)
  for (const question of waiting)
    for (const id of [question.id, questionToolCall(run, question)?.toolCallId])
      if (id !== undefined) answered.set(id, leg)
  writer.set({ leg, answered, waiting: [], pausedAt: undefined, stepDue: true })
  if (waiting.some((question) => questionToolCall(run, question) !== undefined)) writer.set({ hasResults: true })
  // Calls of earlier messages that end later are shown again: a client finds only those of the current message.
  if (isNewMessage) writer.set({ message: { leg, restart: 0 }, tools: new Map() })
  const { view } = writer
  if (view.leg === leg && view.restart === 0)
    // Clients that saw the first pause lack what other branches did meanwhile.
    writer.begin(isNewMessage ? [] : newestChunks(chunks, ({ log }) => log > pausedAt))
  else if (isNewMessage && writer.state.visibility === 'open')
    writer.set({ visibility: 'ended', endedAt: writer.state.askedAt })
  for (const question of waiting) answer(writer, question, answers[question.id])
  if (!isNewMessage) return
  writer.beginStep()
  const { step, work } = writer.state
  writer.set({ work: new Map(Array.from(work, ([id, open]) => [id, { ...open, step }])) })
}

function answer(writer: ChatWriter, question: Question, given: unknown): void {
  const call = questionToolCall(writer.event.run, question)
  const tool = call === undefined ? undefined : writer.state.tools.get(call.toolCallId)
  if (call === undefined || tool === undefined) return
  const { toolCallId } = call
  const { step } = tool
  const actor = actorKey(question.actor)
  const showResult = (output: unknown): void => {
    writer.emit(
      { type: 'tool-output-available', toolCallId, output: output ?? null, ...dynamicIn(writer) },
      { step, actor },
    )
    writer.setTool(toolCallId, { ...tool, state: 'answered' })
  }
  if (question.kind === 'tool') return showResult(given)
  const decision = decisionOf(given)
  writer.emit({ type: 'tool-approval-response', approvalId: question.id, ...decision }, { step, actor })
  if (!decision.approved) writer.setTool(toolCallId, { ...tool, denied: true })
  if (tool.asks !== true) return
  if (decision.approved) return showResult(given)
  writer.emit({ type: 'tool-output-denied', toolCallId }, { step, actor })
  writer.setTool(toolCallId, { ...tool, state: 'answered' })
}
