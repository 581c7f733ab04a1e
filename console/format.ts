/** Formats numbers and times for display. */

export function duration(ms: number): string {
  if (ms < 0) return '0 ms'
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 1 : 0)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} m ${pad(Math.floor((ms % 60_000) / 1000))} s`
  const hours = Math.floor(minutes / 60)
  return hours < 48 ? `${hours} h ${pad(minutes % 60)} m` : `${Math.floor(hours / 24)} d ${hours % 24} h`
}

/** Relative time. */
export function age(time: string, now: number): string {
  const ms = now - Date.parse(time)
  if (ms < 5000) return 'now'
  if (ms < 60_000) return `${Math.floor(ms / 1000)} s ago`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} m ago`
  if (ms < 86_400_000) return `${Math.floor(ms / 3_600_000)} h ago`
  return `${Math.floor(ms / 86_400_000)} d ago`
}

export function clock(time: string): string {
  const date = new Date(time)
  return `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}.${String(date.getMilliseconds()).padStart(3, '0')}`
}

export function moment(time: string): string {
  return new Date(time).toLocaleString()
}

export function count(value: number): string {
  return value.toLocaleString('en')
}

export function bytes(value: number): string {
  if (value < 1024) return `${value} B`
  const units = ['KiB', 'MiB', 'GiB', 'TiB']
  let size = value / 1024
  let unit = 0
  for (; size >= 1024 && unit < units.length - 1; unit++) size /= 1024
  return `${size.toFixed(size < 10 ? 1 : 0)} ${units[unit]}`
}

/** The end of an id, where ids differ. */
export function shortId(id: string): string {
  return id.length <= 14 ? id : `…${id.slice(-8)}`
}

/** A chosen name is distinguished by its beginning, a generated one by its end. */
export function shortSession(session: string): string {
  if (session.length <= 24) return session
  return session.startsWith('ses_') ? shortId(session) : `${session.slice(0, 22)}…`
}

export function json(value: unknown, indent = 2): string {
  return JSON.stringify(value, undefined, indent) ?? 'undefined'
}

/** A string as it is, anything else as JSON. */
export function shown(value: unknown): string {
  return typeof value === 'string' ? value : json(value)
}

function pad(value: number): string {
  return String(value).padStart(2, '0')
}
