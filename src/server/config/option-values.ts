/** Parsers for option values. Each throws an error that says what is wrong and what is valid. */
import { toBlockList } from '../../http/guards/trusted-proxies.ts'

export function toText(text: string): string {
  return text
}

/** Comma-separated strings. */
export function toList(text: string): readonly string[] {
  return text.split(',').map((part) => part.trim())
}

export function toBearer(text: string): string {
  if (/^[!-~]+$/.test(text)) return text
  // Do not repeat the value: it is a secret.
  throw new Error('not a valid bearer token: use ASCII letters, digits and punctuation, without spaces')
}

export function toSwitch(text: string): boolean {
  const lower = text.toLowerCase()
  if (['true', '1', 'yes', 'on'].includes(lower)) return true
  if (['false', '0', 'no', 'off'].includes(lower)) return false
  throw wrong(text, 'a switch', 'true or false')
}

export function toWebAddress(text: string): string {
  if (/^https?:$/.test(URL.parse(text)?.protocol ?? '')) return text
  throw wrong(text, 'an address', 'one that begins with http:// or https://')
}

export function toPort(text: string): number {
  const port = toWhole(text)
  if (port !== undefined && port <= 65_535) return port
  // Kubernetes sets HOLDFAST_PORT in every pod if a service is named "holdfast".
  const kubernetes = text.startsWith('tcp://')
    ? '; Kubernetes sets this for services: use enableServiceLinks: false'
    : ''
  throw wrong(text, 'a port', `a number from 0 to 65535${kubernetes}`)
}

export function toCount(min: number, max: number): (text: string) => number {
  return (text) => {
    const count = toWhole(text)
    if (count !== undefined && count >= min && count <= max) return count
    throw wrong(text, 'a count', `a whole number from ${min} to ${max}`)
  }
}

export function toChoice<const Choice extends string>(choices: readonly Choice[]): (text: string) => Choice {
  return (text) => {
    const choice = choices.find((each) => each === text)
    if (choice !== undefined) return choice
    throw wrong(text, 'known', `one of ${choices.join(', ')}`)
  }
}

/** A comma-separated subset of the choices. */
export function toChoices<const Choice extends string>(
  choices: readonly Choice[],
): (text: string) => readonly Choice[] {
  return (text) => toList(text).map(toChoice(choices))
}

const HOUR_MS = 3_600_000
const DURATIONS = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Parses `90s` or `30d` to milliseconds. Rejects numbers without a unit, except 0. */
export function toDuration(text: string): number {
  return toQuantity(text, DURATIONS, 'a duration', '30d, 12h, 15m, 90s, 500ms or 0')
}

/** Like `toDuration`, with a maximum in hours. */
export function toDurationWithin(maxHours: number): (text: string) => number {
  return (text) => {
    const milliseconds = toDuration(text)
    if (milliseconds <= maxHours * HOUR_MS) return milliseconds
    throw new Error(`${JSON.stringify(text)} is too long: at most ${maxHours}h`)
  }
}

/**
 * Between a second and ten minutes: more frequent heartbeats are a load, less frequent ones do not keep proxies from closing
 * connections.
 */
export function toHeartbeat(text: string): number {
  const milliseconds = toDuration(text)
  if (milliseconds < 1000) throw new Error(`${JSON.stringify(text)} is too short: at least 1s`)
  if (milliseconds > HOUR_MS / 6) throw new Error(`${JSON.stringify(text)} is too long: at most 10m`)
  return milliseconds
}

const SIZES = { b: 1, kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, kib: 2 ** 10, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40 }

/** Parses `10GB` or `512MiB` to bytes. */
export function toSize(text: string): number {
  return toQuantity(text, SIZES, 'a size', '10GB, 512MiB, 4096B or 0')
}

function toQuantity(text: string, units: Readonly<Record<string, number>>, what: string, examples: string): number {
  if (text === '0') return 0
  const [, number = '', unit = ''] = /^(\d+(?:\.\d+)?) ?([a-z]+)$/.exec(text.toLowerCase()) ?? []
  const factor = Object.hasOwn(units, unit) ? units[unit] : undefined
  const value = factor === undefined ? Number.NaN : Math.round(Number(number) * factor)
  if (Number.isSafeInteger(value)) return value
  throw wrong(text, what, `a value such as ${examples}`)
}

/** Comma-separated origins. Rejects wildcards, which would allow every page on the web. */
export function toOrigins(text: string): readonly string[] {
  return text.split(',').map((part) => {
    const origin = part.trim().replace(/\/$/, '')
    if (URL.parse(origin)?.origin === origin) return origin
    throw wrong(part, 'an origin', 'addresses such as https://app.example or http://localhost:3000, and no paths')
  })
}

/** Comma-separated host names. */
export function toHostNames(text: string): readonly string[] {
  return text.split(',').map((part) => {
    const name = part.trim().toLowerCase()
    if (/^[a-z0-9._-]+$/.test(name)) return name
    throw wrong(part, 'a host name', 'names such as agents.example, without a scheme, a port or a wildcard')
  })
}

/** Comma-separated addresses and networks. */
export function toProxies(text: string): readonly string[] {
  const networks = toList(text)
  toBlockList(networks) // validates the networks
  return networks
}

function toWhole(text: string): number | undefined {
  return /^\d{1,15}$/.test(text) ? Number(text) : undefined
}

function wrong(text: string, what: string, right: string): Error {
  return new Error(`${JSON.stringify(text)} is not ${what}: pass ${right}`)
}
