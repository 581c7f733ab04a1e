/** Time and identity come in as arguments, so that tests can own them. */
export interface Clock {
  /** Milliseconds since 1970. */
  now(): number
}

export interface Ids {
  run(): string
  session(): string
  /** For whatever else needs a name that nobody else has. */
  unique(): string
}

export const systemClock: Clock = { now: () => Date.now() }

/** Ids that sort by the time they were made: 48 bits of milliseconds, then 80 random bits, in base 32. */
export function systemIds(clock: Clock = systemClock): Ids {
  const id = (): string => {
    let text = timePart(clock.now())
    for (const byte of crypto.getRandomValues(new Uint8Array(16))) text += ALPHABET[byte & 31]!
    return text
  }
  return { run: () => `run_${id()}`, session: () => `ses_${id()}`, unique: id }
}

const ALPHABET = '0123456789abcdefghjkmnpqrstvwxyz'

function timePart(milliseconds: number): string {
  let text = ''
  for (let rest = milliseconds, digit = 0; digit < 10; digit++, rest = Math.floor(rest / 32))
    text = ALPHABET[rest % 32]! + text
  return text
}

/** ISO time of a moment; formatting is paid once per millisecond. */
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
