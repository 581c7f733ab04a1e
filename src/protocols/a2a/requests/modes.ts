/** Media types that an agent accepts. */
import { a2aError } from '../wire/errors.ts'
import type { Part } from '../wire/wire.ts'

/** Rejects parts with other types. Parts without a type are accepted. */
export function checkModes(parts: readonly Part[], modes: readonly string[] | undefined): void {
  if (modes === undefined) return
  for (const { mediaType } of parts) {
    if (mediaType === undefined || modes.some((mode) => covers(mode, mediaType))) continue
    throw a2aError(
      'CONTENT_TYPE_NOT_SUPPORTED',
      `${mediaType.slice(0, 100)} is not accepted; use ${modes.join(', ')}`,
      {
        mediaType: mediaType.slice(0, 100),
      },
    )
  }
}

/** `image/*` covers `image/png`. */
function covers(mode: string, mediaType: string): boolean {
  const given = mediaType.split(';')[0]!.trim().toLowerCase()
  const wanted = mode.toLowerCase()
  return wanted === '*/*' || wanted === given || (wanted.endsWith('/*') && given.startsWith(wanted.slice(0, -1)))
}
