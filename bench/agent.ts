/** The agent that every measured server runs: numbered texts, as fast as the event loop turns or at a pace. */

/** The input of a run. */
export interface Work {
  readonly events: number
  /** Without a pace: events for each turn of the event loop. */
  readonly perTurn: number
  /** Time between two events; 0 is no pace. */
  readonly intervalMs: number
  /** Where in its interval a run begins, so that paced runs do not all fire at once. */
  readonly phaseMs: number
  /** Every how many events one carries the time; 0 is none. */
  readonly stampEvery: number
}

/** Holds runs back until all of their subscribers are there. */
export class Gate {
  #waiting: (() => void)[] = []
  #arrived: () => void = () => {}

  pass(): Promise<void> {
    return new Promise((resolve) => {
      this.#waiting.push(resolve)
      this.#arrived()
    })
  }

  /** Opens when so many runs wait, and closes behind them. */
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

/** Begins every text and stands nowhere else in a stream, so that a client finds events without parsing them. */
export const MARK = 0x7e
export const SEQUENCE_DIGITS = 6
export const STAMP_MARK = 0x40
export const STAMP_DIGITS = 16

export function text(sequence: number, stamped: boolean): string {
  const number = `~${String(sequence).padStart(SEQUENCE_DIGITS, '0')}`
  const head = stamped ? `${number}@${String(micros()).padStart(STAMP_DIGITS, '0')} ` : `${number} `
  return head + FILLER.slice(0, TEXT_CHARS - head.length)
}

/** The system's monotonic clock: the same for every process of this machine. */
export function micros(): number {
  const [seconds, nanoseconds] = process.hrtime()
  return seconds * 1_000_000 + Math.floor(nanoseconds / 1000)
}
