/** Builds the task object from the folded state. */
import type { Run } from '../../../core/model/run.ts'
import { type Chunk, toArtifacts } from './artifacts.ts'
import { partsOf } from '../../../a2a/parts.ts'
import { aboutOf, agentMessage, firstMessage, questionMessage } from '../requests/messages.ts'
import type { TaskFold, AnsweredTurn } from './projection.ts'
import { stateOf } from './states.ts'
import type { ArtifactUpdate, Message, Metadata, Task, TaskStatus } from '../wire/wire.ts'

export interface TaskView {
  /** Number of newest messages in the history. Default: all. */
  readonly historyLength?: number | undefined
  readonly includeArtifacts?: boolean
  /** Messages that answered questions, by question; the log only has their content. */
  readonly answers?: ReadonlyMap<string, Message>
}

export function taskOf(fold: TaskFold, { historyLength, includeArtifacts = true, answers }: TaskView = {}): Task {
  const { run } = fold
  const artifacts = includeArtifacts ? toArtifacts(fold.artifacts) : []
  const history = historyLength === 0 ? [] : historyOf(fold, answers).slice(-(historyLength ?? 0))
  const { history: _history, metadata: theirs, ...others } = fold.relay?.head ?? {}
  const metadata = fold.relay?.head === undefined ? metadataOf(run, fold.trimmed) : theirs
  return {
    ...others,
    id: run.id,
    contextId: run.session,
    status: statusOf(fold),
    ...(artifacts.length > 0 && { artifacts }),
    ...(history.length > 0 && { history }),
    ...(metadata !== undefined && { metadata }),
  }
}

export function statusOf({ state, message, timestamp, relay }: TaskFold): TaskStatus {
  if (relay?.status !== undefined) return relay.status
  return { state, ...(message !== undefined && { message }), timestamp }
}

/** Oldest first: the initial message, then each question with its answer. */
function historyOf(fold: TaskFold, answers: ReadonlyMap<string, Message> | undefined): Message[] {
  const { run, input, turns, relay } = fold
  // The upstream's history, with the message as the client sent it.
  if (relay?.head?.history !== undefined)
    return relay.head.history.map((message) =>
      message.messageId === `${run.id}-1` ? firstMessage(run, input) : message,
    )
  const newestFirst: Message[] = []
  for (let turn = turns; turn !== undefined; turn = turn.previous) {
    newestFirst.push(answerMessage(run, turn, answers))
    if (turn.questions.length > 0) newestFirst.push(questionMessage(run, turn.questions))
  }
  // A trimmed log no longer contains the input.
  const first = input === undefined && aboutOf(run)?.message.parts === undefined ? [] : [firstMessage(run, input)]
  return [...first, ...newestFirst.toReversed()]
}

function answerMessage(run: Run, turn: AnsweredTurn, known: ReadonlyMap<string, Message> | undefined): Message {
  const [question = ''] = Object.keys(turn.answers)
  const message = known?.get(question)
  if (message !== undefined) return { ...message, taskId: run.id, contextId: run.session }
  const parts = Object.values(turn.answers).flatMap(partsOf)
  const messageId = `${run.id}-${turn.index}`
  return { ...agentMessage(run, messageId, parts.length > 0 ? parts : [{ text: '' }]), role: 'ROLE_USER' }
}

/** The caller's metadata, and a marker if the log was trimmed (SUB-2). */
function metadataOf(run: Run, trimmed = false): Metadata | undefined {
  const { a2a: _a2a, ...given } = run.metadata ?? {}
  const metadata = trimmed ? { ...given, gap: true } : given
  return Object.keys(metadata).length === 0 ? undefined : metadata
}

/** The task without reading its log. */
export function taskOfRun(run: Run): Task {
  const { id, session, waiting, error, reason, updatedAt: timestamp } = run
  const text = error?.message ?? reason
  const message =
    waiting !== undefined
      ? questionMessage(run, waiting)
      : text === undefined || text === ''
        ? undefined
        : agentMessage(run, `${id}-end`, [{ text }])
  const metadata = metadataOf(run)
  return {
    id,
    contextId: session,
    status: { state: stateOf(run), ...(message !== undefined && { message }), timestamp },
    ...(metadata !== undefined && { metadata }),
  }
}

export function artifactUpdateOf(
  { id: taskId, session: contextId }: Run,
  { artifact, append, last }: Chunk,
): ArtifactUpdate {
  return { taskId, contextId, artifact, ...(append && { append }), ...(last && { lastChunk: last }) }
}
