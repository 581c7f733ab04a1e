/** The readable text of a run: its texts without retracted output, its input and its output. */
import type { Actor, LoggedEvent } from '../model/event.ts'
import { actorKey } from '../structure/actors.ts'
import { TextFold } from '../structure/texts.ts'

export interface Transcript {
  readonly input: unknown
  /** Text of the run's own component. */
  readonly own: SpokenText
  /** Transcripts of the components that it called, directly or indirectly, by their own run ids, in the order of their starts. */
  readonly actors: ReadonlyMap<string, ActorTranscript>
  /** Output in `run.completed`. */
  readonly output: unknown
}

export interface ActorTranscript extends SpokenText {
  readonly actor: Actor
}

export interface SpokenText {
  /** The whole text, as streamed in deltas. */
  readonly text: string
  /** The text by message: messages around a tool call are not one sentence. */
  readonly messages: readonly string[]
}

/** Folds a log that is in memory. */
export function transcriptOf(log: Iterable<LoggedEvent>): Transcript {
  const fold = new TranscriptFold()
  for (const event of log) fold.add(event)
  return fold.transcript()
}

/** Folds a log page by page. Pass it every event, in order. */
export class TranscriptFold {
  readonly #texts = new TextFold()
  readonly #actors = new Map<string, Actor>()
  #input: unknown
  #output: unknown

  add(event: LoggedEvent): void {
    const { actor } = event
    switch (event.type) {
      case 'run.created':
        this.#input = event.data.input
        return
      case 'run.completed':
        this.#output = event.data.output
        return
      case 'actor.started':
      case 'text.delta':
        if (actor !== undefined && !this.#actors.has(actor.run)) this.#actors.set(actor.run, actor)
        if (event.type === 'text.delta') this.#texts.add(event)
        return
      case 'attempt.discarded':
        this.#texts.retract(event)
        return
      default:
    }
  }

  transcript(): Transcript {
    const actors = new Map<string, ActorTranscript>()
    for (const [key, actor] of this.#actors) actors.set(key, { actor, ...this.#spokenBy(key) })
    return { input: this.#input, own: this.#spokenBy(actorKey(undefined)), actors, output: this.#output }
  }

  #spokenBy(whose: string): SpokenText {
    const messages: string[][] = []
    let last: string | undefined
    for (const { message, text } of this.#texts.of(whose)) {
      if (messages.length > 0 && message === last) messages.at(-1)!.push(text)
      else messages.push([text])
      last = message
    }
    const joined = messages.map((parts) => parts.join(''))
    return { text: joined.join(''), messages: joined }
  }
}
