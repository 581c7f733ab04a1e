/** Parsers of options that only the server has: its host and its keys. */
import { isIP } from 'node:net'
import { SECURITY_KEY_CHARS_MIN, tooShort } from '../auth/index.ts'
import { parseSecretKeys } from '../secrets/secret-keys.ts'
import { toBearer } from './option-values.ts'

/** Validates early, before anything is written to disk. A key file is read when the server starts. */
export function toSecretKeys(text: string): string {
  if (!text.startsWith('file:')) parseSecretKeys(text)
  return text
}

export function toSharedKey(text: string): string {
  if (text.length < SECURITY_KEY_CHARS_MIN) throw new Error(`the shared key ${tooShort}`)
  return toBearer(text)
}

/** Accepts IPv6 addresses in brackets, as in a URL. */
export function toHost(text: string): string {
  const host = text.replace(/^\[(.*)\]$/, '$1')
  if (isIP(host) !== 0 || /^[a-z0-9][a-z0-9.-]*$/i.test(host)) return host
  throw new Error(`${JSON.stringify(text)} is not an address: pass an IP address or a host name, without a port`)
}
