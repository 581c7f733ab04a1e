/** Logs origins rejected by CORS, because the page itself only sees a generic failure. */
import type { Logger } from '../core/ports/logger.ts'

/** Maximum origins logged: clients can send any number. */
const ORIGINS_MAX = 20
const ORIGIN_CHARS_MAX = 200

/** Logs each origin once. */
export function logRejectedOrigins(logger: Logger): (origin: string) => void {
  const reported = new Set<string>()
  return (origin) => {
    const shortened = origin.slice(0, ORIGIN_CHARS_MAX)
    if (reported.has(shortened) || reported.size >= ORIGINS_MAX) return
    reported.add(shortened)
    logger.warn({ origin: shortened }, 'rejected a page of another origin: allow it with --cors-origins')
  }
}
