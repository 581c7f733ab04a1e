/**
 * What a person reads of a run: a fold of its log into texts, without retracted output, with its input and its output. Each
 * piece of text is added once and retracted at most once, so the fold is linear however many retractions there are.
 */
import type { Actor, LoggedEvent } from '../model/event.ts'
import { actorKey } from '../structure/actors.ts'

export interface Transcript {
  readonly input: unknown
  /** Of the run's own component. */
  readonly own: SpokenText
  /** Of the components that it called, and that these called, by their own run ids, in the order in which they began. */
  readonly actors: ReadonlyMap<string, ActorTranscript>
  /** Of `run.completed`. */
  readonly output: unknown
}

export interface ActorTranscript extends SpokenText {
  readonly actor: Actor
}

export interface SpokenText {
  /** All that was said, as the deltas give it. */
  readonly text: string
  /** The same by message: those between which an agent used a tool are not one sentence. */
  readonly messages: readonly string[]
}

/** Folds a log that is at hand. */
export function transcriptOf(log: Iterable<LoggedEvent>): Transcript {
  const fold = new TranscriptFold()
  for (const event of log) fold.add(event)
  return fold.transcript()
}

interface Piece {
  readonly index: number
  readonly message: string | undefined
  readonly text: string
  withdrawn: boolean
}

interface Speaker {
  readonly actor: Actor | undefined
  readonly pieces: Piece[]
  readonly called: Speaker[]
}

/** The same for a log that is read page by page: give it every event, in order. */
export class TranscriptFold {
  readonly #own: Speaker = { actor: undefined, pieces: [], called: [] }
  readonly #speakers = new Map<string, Speaker>([[actorKey(undefined), this.#own]])
  /** The pieces of all, in the order of the log. */
  readonly #all: Piece[] = []
  #input: unknown
  #output: unknown

  add(event: LoggedEvent): void {
    switch (event.type) {
      case 'run.created':
        this.#input = event.data.input
        return
      case 'run.completed':
        this.#output = event.data.output
        return
      case 'actor.started':
        this.#speaker(event.actor)
        return
      case 'text.delta':
        return this.#say(this.#speaker(event.actor), event.index, event.data)
      case 'attempt.discarded':
        return this.#withdraw(event)
      default:
    }
  }

  transcript(): Transcript {
    const actors = new Map<string, ActorTranscript>()
    for (const [key, speaker] of this.#speakers)
      if (speaker.actor !== undefined) actors.set(key, { actor: speaker.actor, ...spokenBy(speaker) })
    return { input: this.#input, own: spokenBy(this.#own), actors, output: this.#output }
  }

  #speaker(actor: Actor | undefined): Speaker {
    const known = this.#speakers.get(actorKey(actor))
    if (known !== undefined) return known
    const speaker: Speaker = { actor, pieces: [], called: [] }
    this.#speakers.set(actorKey(actor), speaker)
    const parent = this.#speakers.get(actor?.parent ?? '') ?? this.#own
    parent.called.push(speaker)
    return speaker
  }

  #say(speaker: Speaker, index: number, { text, message }: { text: string; message?: string }): void {
    const piece: Piece = { index, message, text, withdrawn: false }
    speaker.pieces.push(piece)
    this.#all.push(piece)
  }

  #withdraw({ data: { from, scope }, actor }: Extract<LoggedEvent, { type: 'attempt.discarded' }>): void {
    if (scope === 'all') return withdrawFrom(this.#all, from)
    const speaker = this.#speakers.get(actorKey(actor))
    if (speaker === undefined) return
    for (const each of scope === 'own' ? [speaker] : withCalled(speaker)) withdrawFrom(each.pieces, from)
  }
}

/** A piece is in two lists; the other one finds it marked. */
function withdrawFrom(pieces: Piece[], from: number): void {
  while (pieces.length > 0 && pieces.at(-1)!.index >= from) pieces.pop()!.withdrawn = true
}

function* withCalled(speaker: Speaker): Generator<Speaker> {
  yield speaker
  for (const called of speaker.called) yield* withCalled(called)
}

function spokenBy({ pieces }: Speaker): SpokenText {
  const messages: string[][] = []
  let last: Piece | undefined
  for (const piece of pieces) {
    if (piece.withdrawn) continue
    if (last !== undefined && piece.message === last.message) messages.at(-1)!.push(piece.text)
    else messages.push([piece.text])
    last = piece
  }
  const joined = messages.map((parts) => parts.join(''))
  return { text: joined.join(''), messages: joined }
}
