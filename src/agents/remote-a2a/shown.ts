/** What has been shown of a remote task: an update and a snapshot lead to the same events, and nothing is shown twice. */
import { emit } from '../../core/agent.ts'
import type { Event } from '../../core/event.ts'
import type { Artifact, Message, Part, State, Task, Update } from './wire.ts'

/** How far it is shown, for a later leg of the same task. */
export interface Marks {
  readonly artifacts: Readonly<Record<string, ArtifactMark>>
  readonly messages: readonly string[]
}

interface ArtifactMark {
  /** All of its text so far. */
  readonly text: string
  /** Parts that are no text. */
  readonly others: number
  /** How often it was replaced by something else. */
  readonly versions: number
}

export class ShownTask {
  readonly #id: string
  readonly #artifacts: Map<string, ArtifactMark>
  readonly #messages: Set<string>
  readonly #goesOn: boolean
  readonly #values: unknown[] = []
  #said = ''
  state: State = 'unknown'
  /** What the last status says. */
  note = ''
  /** It has ended, or waits for an answer that it was not given yet. */
  settled = false

  constructor(id: string, marks?: Marks) {
    this.#id = id
    this.#artifacts = new Map(Object.entries(marks?.artifacts ?? {}))
    this.#messages = new Set(marks?.messages)
    this.#goesOn = marks !== undefined
  }

  get marks(): Marks {
    return { artifacts: Object.fromEntries(this.#artifacts), messages: [...this.#messages] }
  }

  /** The text of its artifacts, or of its last message where there are none; a value where there is no text. */
  get output(): unknown {
    const texts = [...this.#artifacts.values()].map(({ text }) => text).filter((text) => text !== '')
    if (texts.length > 0) return texts.join('\n\n')
    if (this.#values.length > 0) return this.#values.length === 1 ? this.#values[0] : this.#values
    return this.note === '' ? this.#said : this.note
  }

  *add(update: Update): Generator<Event> {
    switch (update.type) {
      case 'task':
        return yield* this.#snapshot(update.task)
      case 'message':
        return yield* this.message(update.message)
      case 'status':
        return yield* this.#status(update.state, update.message)
      case 'artifact':
        return yield* this.#chunk(update.artifact, update.append, update.last)
    }
  }

  /** Something that the agent says. */
  *message(message: Message): Generator<Event> {
    const text = textOf(message.parts)
    const known = message.id === '' ? text : message.id
    if (!message.fromAgent || this.#messages.has(known)) return
    this.#messages.add(known)
    this.#said = text
    if (text !== '') yield* whole(`${this.#id}/${known}`, text)
  }

  *#snapshot({ artifacts, history, state, message }: Task): Generator<Event> {
    for (const said of history) yield* this.message(said)
    for (const artifact of artifacts) yield* this.#replace(artifact, false)
    yield* this.#status(state, message, this.#goesOn)
  }

  /**
   * What a task says when it waits or fails is a question or a reason, and no part of its text. A task that was answered may still
   * be shown as it was before: with the same question, or, in a snapshot, with none.
   */
  *#status(state: State, message: Message | undefined, stale = false): Generator<Event> {
    this.state = state
    this.note = textOf(message?.parts ?? [])
    const known = message === undefined ? undefined : message.id === '' ? this.note : message.id
    const isOld = known === undefined ? stale : this.#messages.has(known)
    this.settled = ENDED.includes(state) || (WAITING.includes(state) && !isOld)
    if (message === undefined || known === undefined) return
    if (state === 'submitted' || state === 'working' || state === 'completed') yield* this.message(message)
    else this.#messages.add(known)
  }

  *#chunk(artifact: Artifact, append: boolean, last: boolean): Generator<Event> {
    if (!append) return yield* this.#replace(artifact, last)
    const mark = this.#artifacts.get(artifact.id) ?? { text: '', others: 0, versions: 0 }
    yield* this.#grow(artifact, mark, { text: mark.text + textOf(artifact.parts), skip: 0, last })
  }

  /** The whole artifact, of which the beginning is shown already, unless it is another one now. */
  *#replace(artifact: Artifact, last: boolean): Generator<Event> {
    const text = textOf(artifact.parts)
    const known = this.#artifacts.get(artifact.id) ?? { text: '', others: 0, versions: 0 }
    if (text.startsWith(known.text)) return yield* this.#grow(artifact, known, { text, skip: known.others, last })
    yield* this.#grow(artifact, { text: '', others: 0, versions: known.versions + 1 }, { text, skip: 0, last })
  }

  *#grow(
    { id, name, parts }: Artifact,
    mark: ArtifactMark,
    { text, skip, last }: { text: string; skip: number; last: boolean },
  ): Generator<Event> {
    const others = parts.filter((part) => part.text === undefined).slice(skip)
    this.#artifacts.set(id, { ...mark, text, others: mark.others + others.length })
    const message = `${this.#id}/${id}${mark.versions === 0 ? '' : `.${mark.versions + 1}`}`
    if (text.length > mark.text.length) {
      if (mark.text === '') yield emit('text.started', { message })
      yield emit('text.delta', { text: text.slice(mark.text.length), message })
    }
    for (const part of others) yield this.#other(id, name, part)
    if (last && text !== '') yield emit('text.completed', { message })
  }

  #other(artifact: string, name: string | undefined, { mediaType, bytes, url, value, name: own }: Part): Event {
    if (value !== undefined) this.#values.push(value)
    const title = own ?? name
    return emit('artifact.added', {
      artifact: `${this.#id}/${artifact}`,
      mediaType: mediaType ?? (value === undefined ? 'application/octet-stream' : 'application/json'),
      ...(title !== undefined && { name: title }),
      ...(bytes !== undefined && { bytes }),
      ...(url !== undefined && { url }),
      ...(value !== undefined && { value }),
    })
  }
}

const ENDED: readonly State[] = ['completed', 'failed', 'canceled', 'rejected']
const WAITING: readonly State[] = ['input-required', 'auth-required']

function* whole(message: string, text: string): Generator<Event> {
  yield emit('text.started', { message })
  yield emit('text.delta', { text, message })
  yield emit('text.completed', { message })
}

export function textOf(parts: readonly Part[]): string {
  return parts.map(({ text }) => text ?? '').join('')
}
