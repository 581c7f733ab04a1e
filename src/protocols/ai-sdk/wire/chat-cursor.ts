/** A subscriber's position in a chat: which frames it gets, and where its stream ends. */
import type { Slice } from '../../../core/model/slice.ts'
import type { Checkpoint, SharedView } from '../../../core/delivery/shared-view.ts'
import { type SelectedFrames, ViewCursor } from '../../../http/response/view.ts'
import type { ReferencedState } from '../../../core/delivery/view-memory.ts'
import type { ChatFrame, ChatState } from '../../../ai-sdk/view/state.ts'

export interface ChatCursorOptions {
  readonly view: SharedView<ChatState, ChatFrame>
  /** The subscription must start after this event. Default: at the beginning. */
  readonly from?: Checkpoint<ChatState>
  /** Number of the first chunk that the client needs. Default: 0. */
  readonly position?: number
  /** The stream ends at the first pause from this event on; earlier ones have been answered. Default: 0. */
  readonly pausesFrom?: number
}

/** Frames of a slice. `shared`: all frames of a step, whose bytes subscribers share. */
export interface ChatFrames {
  readonly frames: readonly ChatFrame[]
  readonly shared?: SelectedFrames<ChatState, ChatFrame>
}

export class ChatCursor {
  readonly #cursor: ViewCursor<ChatState, ChatFrame>
  #end: ChatFrame['end']

  constructor({ view, from, position = 0, pausesFrom = 0 }: ChatCursorOptions) {
    this.#cursor = new ViewCursor({
      view,
      ...(from !== undefined && { from }),
      // The chunks that closed a stream at an earlier pause have the same numbers as those after the answer.
      ...(position > 0 && {
        isNeeded: (frame: ChatFrame, log: number) =>
          frame.position >= position && (frame.closes !== true || log >= pausesFrom),
      }),
      ends: ({ end }, log) => end !== 'pause' || log >= pausesFrom,
    })
  }

  /** The log index after which the subscription must start. */
  get after(): number {
    return this.#cursor.at.index
  }

  get referenced(): ReferencedState {
    return this.#cursor.referenced
  }

  /** How the stream ended; undefined if it has not. */
  get end(): ChatFrame['end'] {
    return this.#end
  }

  take(slice: Slice): ChatFrames {
    const taken = this.#cursor.take(slice)
    const { step, begin, end } = taken
    if (this.#cursor.ended) this.#end ??= step.frames[end - 1]?.end
    if (step.ends.length === 0) return { frames: step.frames.slice(begin, end), shared: taken }
    const lastLog = this.#end === 'pause' ? step.logs[end - 1] : undefined
    const frames = step.frames.slice(begin, end)
    const sent = frames.filter(({ closes }, index) => closes !== true || step.logs[begin + index] === lastLog)
    return { frames: sent, ...(sent.length === frames.length && { shared: taken }) }
  }
}
