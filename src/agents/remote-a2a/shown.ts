/** Tracks what has been shown of a remote task: updates and snapshots produce the same events, and nothing is shown twice. */
import {
  type Artifact,
  type Message,
  type Part,
  type Task,
  type TaskState,
  type TaskStatus,
  textOf,
  type Update,
} from '../../a2a/types.ts'
import { detached } from '../../a2a/detached.ts'
import { emit } from '../../core/ports/component.ts'
import type { Event } from '../../core/model/event.ts'
import { piecesOf } from '../shared/long-text.ts'

/** How much was shown, for a later leg of the same task. */
export interface Marks {
  readonly artifacts: Readonly<Record<string, ArtifactMark>>
  readonly messages: readonly string[]
}

interface ArtifactMark {
  /** All of its text so far. */
  readonly text: string
  /** Number of non-text parts. */
  readonly others: number
  /** How often it was replaced. */
  readonly versions: number
}

export class ShownTask {
  readonly #id: string
  readonly #artifacts: Map<string, ArtifactMark>
  readonly #messages: Set<string>
  readonly #values: unknown[] = []
  #said = ''
  status: TaskStatus = { state: 'TASK_STATE_UNSPECIFIED' }

  constructor(id: string, marks?: Marks) {
    this.#id = id
    this.#artifacts = new Map(Object.entries(marks?.artifacts ?? {}))
    this.#messages = new Set(marks?.messages)
  }

  /** Text of the last status. */
  get note(): string {
    return textOf(this.status.message?.parts ?? [])
  }

  get marks(): Marks {
    return { artifacts: Object.fromEntries(this.#artifacts), messages: [...this.#messages] }
  }

  /** The text of its artifacts, or of its last message if there are none; a value if there is no text. */
  get output(): unknown {
    const texts = [...this.#artifacts.values()].map(({ text }) => text).filter((text) => text !== '')
    if (texts.length > 0) return texts.join('\n\n')
    if (this.#values.length > 0) return this.#values.length === 1 ? this.#values[0] : this.#values
    return this.note === '' ? this.#said : this.note
  }

  *add(update: Update): Generator<Event> {
    if ('task' in update) return yield* this.#snapshot(update.task)
    if ('message' in update) return yield* this.message(update.message)
    if ('statusUpdate' in update) return yield* this.#status(update.statusUpdate.status)
    const { artifact, append = false, lastChunk = false } = update.artifactUpdate
    yield* append ? this.#chunk(artifact, lastChunk) : this.#replace(artifact, lastChunk)
  }

  /** A message of the agent. */
  *message(message: Message): Generator<Event> {
    const text = textOf(message.parts)
    const known = nameOf(message)
    if (message.role !== 'ROLE_AGENT' || this.#messages.has(known)) return
    this.#messages.add(known)
    this.#said = text
    if (text !== '') yield* whole(`${this.#id}/${known}`, text)
  }

  *#snapshot({ artifacts = [], history = [], status }: Task): Generator<Event> {
    for (const said of history) yield* this.message(said)
    for (const artifact of artifacts) yield* this.#replace(artifact, false)
    yield* this.#status(status)
  }

  /** The status message of a waiting or failed task is a question or a reason, not part of its text. */
  *#status(status: TaskStatus): Generator<Event> {
    this.status = status
    const { message, state } = status
    if (message === undefined) return
    if (SPEAKING.includes(state)) yield* this.message(message)
    else this.#messages.add(nameOf(message))
  }

  *#chunk(artifact: Artifact, last: boolean): Generator<Event> {
    const mark = this.#artifacts.get(artifact.artifactId) ?? { text: '', others: 0, versions: 0 }
    yield* this.#grow(artifact, mark, { more: textOf(artifact.parts), skip: 0, last })
  }

  /** A complete artifact whose beginning was already shown, or a replacement. */
  *#replace(artifact: Artifact, last: boolean): Generator<Event> {
    const text = textOf(artifact.parts)
    const known = this.#artifacts.get(artifact.artifactId) ?? { text: '', others: 0, versions: 0 }
    if (text.startsWith(known.text)) {
      const more = detached(text.slice(known.text.length))
      return yield* this.#grow(artifact, known, { more, skip: known.others, last })
    }
    yield* this.#grow(artifact, { text: '', others: 0, versions: known.versions + 1 }, { more: text, skip: 0, last })
  }

  *#grow(
    { artifactId: id, name, parts }: Artifact,
    mark: ArtifactMark,
    { more, skip, last }: { more: string; skip: number; last: boolean },
  ): Generator<Event> {
    const others = parts.filter((part) => part.text === undefined).slice(skip)
    // Never sliced: that would copy everything for each piece, and each copy would live as long as the piece.
    const text = mark.text + more
    this.#artifacts.set(id, { ...mark, text, others: mark.others + others.length })
    const message = `${this.#id}/${id}${mark.versions === 0 ? '' : `.${mark.versions + 1}`}`
    if (more !== '') {
      if (mark.text === '') yield emit('text.started', { message })
      for (const piece of piecesOf(more)) yield emit('text.delta', { text: piece, message })
    }
    for (const part of others) yield this.#other(id, name, part)
    if (last && text !== '') yield emit('text.completed', { message })
  }

  #other(artifact: string, name: string | undefined, { mediaType, raw, url, data: value, filename: own }: Part): Event {
    if (value !== undefined) this.#values.push(value)
    const title = own ?? name
    return emit('artifact.added', {
      artifact: `${this.#id}/${artifact}`,
      mediaType: mediaType ?? (value === undefined ? 'application/octet-stream' : 'application/json'),
      ...(title !== undefined && { name: title }),
      ...(raw !== undefined && { bytes: raw }),
      ...(url !== undefined && { url }),
      ...(value !== undefined && { value }),
    })
  }
}

const SPEAKING: readonly TaskState[] = ['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']

/** Identifies a message: by its id, or else by its content. */
function nameOf({ messageId, parts }: Message): string {
  return messageId === '' ? textOf(parts) : messageId
}

function* whole(message: string, text: string): Generator<Event> {
  yield emit('text.started', { message })
  for (const piece of piecesOf(text)) yield emit('text.delta', { text: piece, message })
  yield emit('text.completed', { message })
}
