/** Parses `--retain` and `--retain-runs`: `30d`, or `30d,writer=7d,tenant:acme=90d,principal:acme/anna=1d`. */
import { toDuration } from '../config/option-values.ts'
import type { RetentionOverrides } from './periods.ts'

export interface RetentionText extends RetentionOverrides {
  readonly defaultMs: number
}

const OVERRIDES_MAX = 1000

export function toRetention(text: string): RetentionText {
  const entries = text.split(',')
  if (entries.length > OVERRIDES_MAX) throw new Error(`the value has more than ${OVERRIDES_MAX} periods`)
  let defaultMs: number | undefined
  const overrides = { components: new Map(), tenants: new Map(), principals: new Map() } as const satisfies Record<
    string,
    Map<string, number>
  >
  const byKind = new Map<string, Map<string, number>>([
    ['component', overrides.components],
    ['tenant', overrides.tenants],
    ['principal', overrides.principals],
  ])
  for (const entry of entries.map((each) => each.trim())) {
    const equals = entry.lastIndexOf('=')
    if (equals < 0) {
      if (defaultMs !== undefined) throw new Error(`${JSON.stringify(entry)} is a second default: set only one`)
      defaultMs = toDuration(entry)
      continue
    }
    const [, kind = 'component', name = ''] = /^(?:(component|tenant|principal):)?(.*)$/s.exec(entry.slice(0, equals))!
    if (name === '') throw new Error(`${JSON.stringify(entry)} has no name: use writer=7d or tenant:acme=90d`)
    const periods = byKind.get(kind)!
    if (periods.has(name)) throw new Error(`${kind} ${JSON.stringify(name)} has two periods: set only one`)
    periods.set(name, toDuration(entry.slice(equals + 1)))
  }
  const overridden = Object.entries(overrides).filter(([, periods]) => periods.size > 0)
  return {
    defaultMs: defaultMs ?? 0,
    ...Object.fromEntries(overridden.map(([kind, periods]) => [kind, Object.fromEntries(periods)])),
  }
}
