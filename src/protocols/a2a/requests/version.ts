/** Which version of A2A a request speaks. */
import type { Version } from '../../../a2a/types.ts'
import { a2aError } from '../wire/errors.ts'

export type { Version }

/** `Major.Minor`: patches do not count. A request that names none speaks 0.3, as all did before there was a name to give. */
export function parseVersion(given: string | null | undefined): Version {
  const text = given?.trim() ?? ''
  if (text === '') return '0.3'
  const [, version] = /^(\d{1,3}\.\d{1,3})(?:\.\d{1,5})?$/.exec(text) ?? []
  if (version === '1.0' || version === '0.3') return version
  throw a2aError('VERSION_NOT_SUPPORTED', `version ${text.slice(0, 20)} of A2A is not served; 1.0 and 0.3 are`, {
    supported: '1.0,0.3',
  })
}

/** A request must not say that it speaks another version than what it asks for is of. */
export function requireVersion(version: Version, wanted: Version, what: string): void {
  if (version === wanted) return
  throw a2aError('VERSION_NOT_SUPPORTED', `${what} is of A2A ${wanted}: send the header A2A-Version: ${wanted}`, {
    supported: '1.0,0.3',
  })
}

/** What only 1.0 has is refused to those who speak 0.3, whether they said so or not. */
export function requireCurrent(version: Version, what: string): void {
  requireVersion(version, '1.0', what)
}
