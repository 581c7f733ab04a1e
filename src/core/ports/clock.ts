/** Time and ids are injected, so that tests can control them. */
export interface Clock {
  /** Wall clock, in milliseconds since 1970, for stored times. It jumps when the system clock is set. */
  now(): number
  /** Monotonic clock, in milliseconds, for durations. Default: that of the process. */
  elapsed?(): number
  /** Calls `act` after a delay; returns a function that cancels it. Default: timers of the runtime, of any length. */
  startTimer?(act: () => void, milliseconds: number): () => void
}

/** Generates ids. Inject one for tests. */
export interface Ids {
  run(): string
  session(): string
  /** Any other unique id. */
  unique(): string
}

export const systemClock: Clock = { now: () => Date.now() }

/** The monotonic time of a clock. */
export function elapsedOf(clock: Clock): number {
  return clock.elapsed?.() ?? performance.now()
}

/** Ids that sort by creation: 48 bits of milliseconds, then 80 random bits, incremented within one millisecond. */
export function systemIds(clock: Pick<Clock, 'now'> = systemClock): Ids {
  let time = 0
  let tail: number[] = []
  const id = (): string => {
    const now = clock.now()
    if (now > time || !increment(tail)) {
      time = Math.max(now, time)
      tail = Array.from(crypto.getRandomValues(new Uint8Array(TAIL_DIGITS)), (byte) => byte & 31)
      tail[0]! &= 15 // leaves room to increment
    }
    return timePart(time) + tail.map((digit) => ALPHABET[digit]!).join('')
  }
  return { run: () => `run_${id()}`, session: () => `ses_${id()}`, unique: id }
}

const TAIL_DIGITS = 16

/** Increments a number in base 32. Returns false if there is none yet, or on overflow. */
function increment(digits: number[]): boolean {
  for (let at = digits.length - 1; at >= 0; at--) {
    if (digits[at]! < 31) {
      digits[at]!++
      return true
    }
    digits[at] = 0
  }
  return false
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

function timePart(milliseconds: number): string {
  let text = ''
  for (let rest = milliseconds, digit = 0; digit < 10; digit++, rest = Math.floor(rest / 32))
    text = ALPHABET[rest % 32]! + text
  return text
}

/** Formats times as ISO strings, at most once per millisecond. */
export function isoTimer(): (now: number) => string {
  let last = Number.NaN
  let text = ''
  return (now) => {
    if (now !== last) {
      last = now
      text = new Date(now).toISOString()
    }
    return text
  }
}
