/** Tells the operator which pages a browser was not allowed to show answers to: the page itself only learns that something failed. */
import type { Logger } from '../core/ports/logger.ts'

/** Anybody can name origins. */
const ORIGINS_MAX = 20
const ORIGIN_CHARS_MAX = 200

/** Each origin once. */
export function warnOfOrigins(logger: Logger): (origin: string) => void {
  const told = new Set<string>()
  return (origin) => {
    const shown = origin.slice(0, ORIGIN_CHARS_MAX)
    if (told.has(shown) || told.size >= ORIGINS_MAX) return
    told.add(shown)
    logger.warn({ origin: shown }, 'a page of another origin was refused: --cors-origins lets it in')
  }
}
