/** Assembles a task from updates and snapshots, and returns each change exactly once. */
import { difference, repeatsArtifact, Repetition } from './parts.ts'
import { RESUME_EXTENSION } from './resume.ts'
import type { Artifact, ArtifactUpdate, Message, Metadata, Part, Task, TaskStatus, TaskUpdate } from './types.ts'
import { isEnded } from './types.ts'

interface AssembledArtifact {
  head: Omit<Artifact, 'parts'>
  /** Grows in place, so that a chunk's cost does not depend on earlier ones. */
  parts: Part[]
  repetition: Repetition<ArtifactUpdate> | undefined
}

export class TaskAssembler {
  #head: Pick<Task, 'id' | 'contextId' | 'metadata'> | undefined
  #status: TaskStatus = { state: 'TASK_STATE_UNSPECIFIED' }
  #history: readonly Message[] | undefined
  readonly #artifacts = new Map<string, AssembledArtifact>()
  readonly #messageIds = new Set<string>()
  #position: Position | undefined
  #lastStatus: string | undefined
  #rejoined = false
  #exact = true

  /** The reply, if it is a message without a task. */
  message: Message | undefined

  get id(): string | undefined {
    return this.#head?.id
  }

  get status(): TaskStatus {
    return this.#status
  }

  /** Position of the last event, for resuming, if the agent supports positions. */
  get cursor(): string | undefined {
    if (this.#position === undefined) return undefined
    const { sequence, checksum } = this.#position
    return checksum === undefined ? String(sequence) : `${sequence}~${checksum}`
  }

  /** Whether no event can have been lost or duplicated. */
  get exact(): boolean {
    return this.#exact
  }

  get task(): Task | undefined {
    if (this.#head === undefined) return undefined
    const artifacts = [...this.#artifacts.values()].map(({ head, parts }) => ({ ...head, parts: [...parts] }))
    return {
      ...this.#head,
      status: this.#status,
      ...(artifacts.length > 0 && { artifacts }),
      ...(this.#history !== undefined && { history: this.#history }),
    }
  }

  /** Call when another stream of the same task starts. */
  rejoin(): void {
    this.#rejoined = true
    for (const artifact of this.#artifacts.values()) artifact.repetition = undefined
  }

  /** Returns the new parts of an update. */
  add(update: TaskUpdate): TaskUpdate[] {
    const position = positionOf(update)
    if (position !== undefined) {
      // The snapshot at the start of a resumed stream has the number of the event that it resumes after.
      if (this.#position !== undefined && position.sequence <= this.#position.sequence && !position.gap) return []
      this.#position = position
    }
    if ('task' in update) return this.#snapshot(update.task, position !== undefined)
    if ('message' in update) {
      this.message = update.message
      return [update]
    }
    if ('statusUpdate' in update) return this.#statusUpdate(update)
    return this.#chunk(update.artifactUpdate)
  }

  /** Releases buffered chunks that turned out not to be repetitions. */
  flush(): TaskUpdate[] {
    return [...this.#artifacts.values()].flatMap((artifact) => {
      const buffered = artifact.repetition?.flush() ?? []
      artifact.repetition = undefined
      return buffered.flatMap((chunk) => this.#chunk(chunk))
    })
  }

  #snapshot(task: Task, isNumbered: boolean): TaskUpdate[] {
    const isFirst = this.#head === undefined
    const isInDoubt = this.#rejoined && !isNumbered
    // A finished task does not change.
    this.#exact = isEnded(task.status.state) || (this.#exact && !isInDoubt)
    const { status: _status, artifacts: _artifacts, history: _history, ...head } = task
    this.#head = head
    const messages = this.#newMessages(task)
    const chunks = (task.artifacts ?? []).flatMap((artifact) => this.#whole(task, artifact))
    if (isInDoubt)
      for (const { artifactId, parts } of task.artifacts ?? [])
        this.#artifacts.get(artifactId)!.repetition = new Repetition(parts)
    const status = this.#isNewer(task.status) ? [{ statusUpdate: { ...about(task), status: task.status } }] : []
    if (status.length > 0) this.#status = task.status
    return isFirst ? [{ task }] : [...messages, ...chunks, ...status]
  }

  /** Messages that the agent sent while disconnected. */
  #newMessages(task: Task): TaskUpdate[] {
    const messages = (task.history ?? []).filter((message) => message.role === 'ROLE_AGENT' && this.#isNew(message))
    if (task.history !== undefined && task.history.length >= (this.#history?.length ?? 0)) this.#history = task.history
    if (task.status.message !== undefined) this.#isNew(task.status.message)
    const fresh = messages.filter((message) => !repeatsArtifact(message, task.artifacts))
    return fresh.map((message) => ({
      statusUpdate: { ...about(task), status: { state: 'TASK_STATE_WORKING', message } },
    }))
  }

  #isNew({ messageId }: Message): boolean {
    if (messageId === '' || this.#messageIds.has(messageId)) return false
    this.#messageIds.add(messageId)
    return true
  }

  /** An artifact in the agent's state. If it is behind what is known here, it is reported only if nothing can follow. */
  #whole(task: Task, artifact: Artifact): TaskUpdate[] {
    const { parts, ...head } = artifact
    const known = this.#artifacts.get(artifact.artifactId)
    const differs = known === undefined ? 'other' : difference(known.parts, parts)
    if (known === undefined || differs === 'other' || (differs === 'older' && isEnded(task.status.state))) {
      this.#artifacts.set(artifact.artifactId, { head, parts: [...parts], repetition: undefined })
      return [{ artifactUpdate: { ...about(task), artifact } }]
    }
    known.head = head
    if (differs === 'older' || differs.more.length === 0) return []
    known.parts.push(...differs.more)
    return [{ artifactUpdate: { ...about(task), artifact: { ...head, parts: differs.more }, append: true } }]
  }

  /** Whether the task has ended or has a later status. */
  #isPast({ state, timestamp }: TaskStatus): boolean {
    const known = this.#status
    if (isEnded(known.state)) return true
    return timestamp !== undefined && known.timestamp !== undefined && timestamp < known.timestamp && !isEnded(state)
  }

  #isNewer({ state, message, timestamp }: TaskStatus): boolean {
    const known = this.#status
    if (this.#isPast({ state, ...(timestamp !== undefined && { timestamp }) })) return false
    return state !== known.state || message?.messageId !== known.message?.messageId || timestamp !== known.timestamp
  }

  #statusUpdate(update: Extract<TaskUpdate, { statusUpdate: unknown }>): TaskUpdate[] {
    const { status, taskId, contextId } = update.statusUpdate
    this.#head ??= { id: taskId, ...(contextId !== undefined && { contextId }) }
    // A status may repeat the last one and report progress in its metadata.
    const serialized = JSON.stringify(update)
    const isRepeated = serialized === this.#lastStatus || this.#rejoined
    if (!this.#isNewer(status) && (isRepeated || this.#isPast(status))) return []
    this.#lastStatus = serialized
    if (status.message !== undefined) this.#isNew(status.message)
    const buffered = isEnded(status.state) ? this.flush() : []
    this.#status = status
    return [...buffered, update]
  }

  #chunk(chunk: ArtifactUpdate): TaskUpdate[] {
    const { taskId: id, contextId } = chunk
    this.#head ??= { id, ...(contextId !== undefined && { contextId }) }
    const { parts, ...head } = chunk.artifact
    const known = this.#artifacts.get(head.artifactId)
    if (known?.repetition !== undefined) {
      const { fresh, repeats } = known.repetition.take(chunk)
      if (!repeats) known.repetition = undefined
      return fresh.flatMap((each) => this.#chunk(each))
    }
    // An earlier chunk was missed.
    if (known === undefined && chunk.append === true) this.#exact = false
    if (known === undefined || chunk.append !== true)
      this.#artifacts.set(head.artifactId, { head, parts: [...parts], repetition: undefined })
    else known.parts.push(...parts)
    return [{ artifactUpdate: chunk }]
  }
}

function about({ id, contextId }: Pick<Task, 'id' | 'contextId'>): {
  readonly taskId: string
  readonly contextId?: string
} {
  return { taskId: id, ...(contextId !== undefined && { contextId }) }
}

interface Position {
  readonly sequence: number
  /** Checksum of that event, with which the agent recognizes its log. */
  readonly checksum: string | undefined
  readonly gap: boolean
}

function positionOf(update: TaskUpdate): Position | undefined {
  const [value] = Object.values(update) as { readonly metadata?: Metadata }[]
  const extension = value?.metadata?.[RESUME_EXTENSION] as Partial<Record<keyof Position, unknown>> | null | undefined
  if (typeof extension?.sequence !== 'number') return undefined
  const checksum = typeof extension.checksum === 'string' ? extension.checksum : undefined
  return { sequence: extension.sequence, checksum, gap: extension.gap === true }
}
