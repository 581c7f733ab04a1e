/** Maps updates and snapshots of a remote task to events, each part of the output once. */
import {
  type Artifact,
  type Message,
  type Part,
  type Task,
  type TaskState,
  type TaskStatus,
  textOf,
  type TaskUpdate,
} from '../../a2a/types.ts'
import { repeatsArtifact } from '../../a2a/parts.ts'
import { copySubstring } from '../../a2a/copy-substring.ts'
import { createEvent } from '../../core/ports/component.ts'
import type { Event, EventData } from '../../core/model/event.ts'
import { base64Pieces, fitsEvent, isLongText, OUTPUT_CHARS_MAX, piecesOf } from '../shared/long-text.ts'
import { ArtifactText, checksumOf, type TextMark } from './artifact-text.ts'

/** Amount emitted so far, for the next message to the same task. */
export interface Marks {
  readonly artifacts: Readonly<Record<string, ArtifactMark>>
  readonly messages: readonly string[]
}

interface ArtifactCounts {
  /** Number of non-text parts. */
  readonly others: number
  /** How often it was replaced. */
  readonly versions: number
}

type ArtifactMark = TextMark & ArtifactCounts

interface ArtifactOutput extends ArtifactCounts {
  readonly content: ArtifactText
}

export class TaskOutput {
  readonly #id: string
  readonly #artifacts = new Map<string, ArtifactOutput>()
  readonly #messages: Set<string>
  /** Characters of all artifacts. */
  #chars = 0
  /** The artifacts exceed what can be recorded again. Their texts are dropped: they cannot be the output. */
  #isLong = false
  #values: unknown[] = []
  /** Characters of the values, as JSON. */
  #valueChars = 0
  #lastMessage: string | undefined = ''
  /** Chunks of artifacts whose beginning was missed, by id: they wait for the whole. */
  readonly #headless = new Map<string, Artifact[]>()
  readonly #isRejoined: boolean
  status: TaskStatus = { state: 'TASK_STATE_UNSPECIFIED' }

  /** `isRejoined`: the stream may begin in the middle of the task. */
  constructor(id: string, marks?: Marks, isRejoined = false) {
    this.#id = id
    this.#isRejoined = isRejoined
    for (const [artifact, { others, versions, ...text }] of Object.entries(marks?.artifacts ?? {}))
      this.#set(artifact, { content: new ArtifactText(text), others, versions })
    this.#messages = new Set(marks?.messages)
  }

  /** Whether the task was accepted and nothing else is known of it. */
  get isUntouched(): boolean {
    const isQueued = this.status.state === 'TASK_STATE_SUBMITTED' || this.status.state === 'TASK_STATE_UNSPECIFIED'
    return isQueued && this.#artifacts.size === 0 && this.#messages.size === 0
  }

  /** Text of the last status. */
  get note(): string {
    return textOf(this.status.message?.parts ?? [])
  }

  get marks(): Marks {
    const artifacts = [...this.#artifacts].map(([id, { content, ...counts }]) => [id, { ...content.mark, ...counts }])
    return { artifacts: Object.fromEntries(artifacts), messages: [...this.#messages] }
  }

  /**
   * The text of its artifacts, or of its last message if there are none; a value if there is no text. Undefined if it is too long to
   * be recorded again.
   */
  get output(): unknown {
    if (this.#isLong) return undefined
    if (this.#chars > 0) return this.#texts().join('\n\n')
    if (this.#valueChars > OUTPUT_CHARS_MAX) return undefined
    if (this.#values.length > 0) return this.#values.length === 1 ? this.#values[0] : this.#values
    return this.note === '' ? this.#lastMessage : isLongText(this.note) ? undefined : this.note
  }

  #texts(): string[] {
    return [...this.#artifacts.values()].map(({ content }) => content.text ?? '').filter((text) => text !== '')
  }

  *add(update: TaskUpdate): Generator<Event> {
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
    this.#lastMessage = isLongText(text) ? undefined : text
    if (text !== '') yield* wholeText(`${this.#id}/${known}`, text)
  }

  *#snapshot({ artifacts = [], history = [], status }: Task): Generator<Event> {
    for (const message of history) if (!repeatsArtifact(message, artifacts)) yield* this.message(message)
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

  /** Emits what was never sent as a whole, after the last update. */
  *end(): Generator<Event> {
    const buffered = [...this.#headless.values()].flat()
    this.#headless.clear()
    for (const artifact of buffered)
      yield* this.#grow(artifact, this.#known(artifact), { more: textOf(artifact.parts), skip: 0, last: false })
  }

  *#chunk(artifact: Artifact, last: boolean): Generator<Event> {
    const buffered = this.#headless.get(artifact.artifactId)
    if (buffered !== undefined) return void buffered.push(artifact)
    if (this.#isRejoined && !this.#artifacts.has(artifact.artifactId))
      return void this.#headless.set(artifact.artifactId, [artifact])
    yield* this.#grow(artifact, this.#known(artifact), { more: textOf(artifact.parts), skip: 0, last })
  }

  /** A complete artifact whose beginning was already emitted, or a replacement. */
  *#replace(artifact: Artifact, last: boolean): Generator<Event> {
    this.#headless.delete(artifact.artifactId)
    const text = textOf(artifact.parts)
    const known = this.#known(artifact)
    if (known.content.isStartOf(text)) {
      const more = copySubstring(text.slice(known.content.chars))
      return yield* this.#grow(artifact, known, { more, skip: known.others, last })
    }
    const other = { content: new ArtifactText(), others: 0, versions: known.versions + 1 }
    this.#chars -= known.content.chars
    yield* this.#grow(artifact, other, { more: text, skip: 0, last })
  }

  #known({ artifactId }: Artifact): ArtifactOutput {
    return this.#artifacts.get(artifactId) ?? { content: new ArtifactText(), others: 0, versions: 0 }
  }

  *#grow(
    { artifactId: id, name, parts }: Artifact,
    { content, others: known, versions }: ArtifactOutput,
    { more, skip, last }: { more: string; skip: number; last: boolean },
  ): Generator<Event> {
    const others = parts.filter((part) => part.text === undefined).slice(skip)
    const isFirst = content.chars === 0
    this.#chars -= content.chars
    content.append(more)
    this.#set(id, { content, others: known + others.length, versions })
    const message = `${this.#id}/${id}${versions === 0 ? '' : `.${versions + 1}`}`
    if (more !== '') {
      if (isFirst) yield createEvent('text.started', { message })
      for (const piece of piecesOf(more)) yield createEvent('text.delta', { text: piece, message })
    }
    for (const part of others) yield* this.#other(id, name, part)
    if (last && content.chars > 0) yield createEvent('text.completed', { message })
  }

  /** Counts its text, too. */
  #set(id: string, artifact: ArtifactOutput): void {
    this.#artifacts.set(id, artifact)
    this.#chars += artifact.content.chars
    const wasLong = this.#isLong
    this.#isLong ||= this.#chars > OUTPUT_CHARS_MAX || artifact.content.text === undefined
    if (wasLong) artifact.content.forget()
    else if (this.#isLong) for (const { content } of this.#artifacts.values()) content.forget()
  }

  /** Keeps a value for the output. Each value is also logged by itself. */
  #keep(value: unknown): void {
    this.#valueChars += JSON.stringify(value).length
    if (this.#valueChars <= OUTPUT_CHARS_MAX) this.#values.push(value)
    else this.#values = []
  }

  /** Larger content than an event becomes an artifact in chunks: a file as base64, a value as its JSON text. */
  *#other(artifact: string, name: string | undefined, part: Part): Generator<Event> {
    const { mediaType, url, data: value, filename = name } = part
    if (value !== undefined) this.#keep(value)
    const contents = contentsOf(part)
    for (const [place, content] of contents.entries()) {
      yield createEvent('artifact.added', {
        artifact: `${this.#id}/${artifact}`,
        mediaType: mediaType ?? (value === undefined ? 'application/octet-stream' : 'application/json'),
        ...(filename !== undefined && { name: filename }),
        ...(url !== undefined && { url }),
        ...content,
        ...(place > 0 && { append: true }),
        ...(contents.length > 1 && place === contents.length - 1 && { last: true }),
      })
    }
  }
}

/** The content of a part that is not text, in chunks that an event can hold. */
function contentsOf({ raw, data: value }: Part): Pick<EventData['artifact.added'], 'bytes' | 'text' | 'value'>[] {
  if (raw !== undefined) return [...base64Pieces(raw)].map((bytes) => ({ bytes }))
  if (value === undefined) return [{}]
  return fitsEvent(value) ? [{ value }] : [...piecesOf(JSON.stringify(value))].map((text) => ({ text }))
}

const SPEAKING: readonly TaskState[] = ['TASK_STATE_SUBMITTED', 'TASK_STATE_WORKING', 'TASK_STATE_COMPLETED']

/** Identifies a message: by its id, or else by its content. */
function nameOf({ messageId, parts }: Message): string {
  if (messageId !== '') return messageId
  const text = textOf(parts)
  return isLongText(text) ? `${text.length} characters, ${checksumOf(text)}` : text
}

function* wholeText(message: string, text: string): Generator<Event> {
  yield createEvent('text.started', { message })
  for (const piece of piecesOf(text)) yield createEvent('text.delta', { text: piece, message })
  yield createEvent('text.completed', { message })
}
