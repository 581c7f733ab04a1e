/** The benchmark agent: emits numbered texts, as fast as possible or at a fixed rate. */

/** The input of a run. */
export interface Work {
  readonly events: number
  /** Unpaced: events per tick of the event loop. */
  readonly perTurn: number
  /** Interval between events; 0 means unpaced. */
  readonly intervalMs: number
  /** Offset within the interval, so that paced runs do not emit simultaneously. */
  readonly phaseMs: number
  /** Every n-th event has a timestamp; 0 for none. */
  readonly stampEvery: number
}

/** Parses the work in a run's input, which some protocols pass as text. */
export function workIn(input: unknown): Work {
  if (typeof input === 'string') return JSON.parse(input) as Work
  const { messages } = input as { readonly messages?: readonly { readonly content: unknown }[] }
  if (messages === undefined) return input as Work
  const { content } = messages.at(-1)!
  return workIn(typeof content === 'string' ? content : (content as readonly { readonly text: string }[])[0]!.text)
}

/** Holds runs until all subscribers are connected. */
export class Gate {
  #waiting: (() => void)[] = []
  #arrived: () => void = () => {}

  pass(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#arrived()
    })
  }

  /** Opens once this many runs are waiting, then closes again. */
  async open(runs: number): Promise<void> {
    while (this.#waiting.length < runs) await new Promise<void>((resolve) => (this.#arrived = resolve))
    const waiting = this.#waiting
    this.#waiting = []
    for (const pass of waiting) pass()
  }
}

export async function* produce(work: Work, gate: Gate): AsyncGenerator<string, void, void> {
  await gate.pass()
  const start = performance.now() + work.phaseMs
  for (let sequence = 0; sequence < work.events; sequence++) {
    if (work.intervalMs > 0) {
      const wait = start + sequence * work.intervalMs - performance.now()
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait))
    } else if (sequence % work.perTurn === 0) {
      await new Promise((resolve) => setImmediate(resolve))
    }
    yield text(sequence, work.stampEvery > 0 && sequence % work.stampEvery === 0)
  }
}

const TEXT_CHARS = 150
const FILLER =
  'The keel of the boat was laid in spring, and by the time the herring came she had her planks and her "name". '.repeat(
    2,
  )

/** Unique prefix of every text, so that a client can count events without parsing. */
export const MARK = 0x7e
export const SEQUENCE_DIGITS = 6
export const STAMP_MARK = 0x40
export const STAMP_DIGITS = 16

export function text(sequence: number, stamped: boolean): string {
  const number = `~${String(sequence).padStart(SEQUENCE_DIGITS, '0')}`
  const head = stamped ? `${number}@${String(micros()).padStart(STAMP_DIGITS, '0')} ` : `${number} `
  return head + FILLER.slice(0, TEXT_CHARS - head.length)
}

/** The system's monotonic clock, shared by all processes. */
export function micros(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000_000 + Math.floor(nanoseconds / 1000)
}
