/** Determines the A2A version of a request. */
import type { A2aVersion as Version } from '../../../a2a/types.ts'
import { a2aError } from '../wire/errors.ts'

export type { Version }

/** `Major.Minor`; patch versions are ignored. Default: 0.3, which predates the header. */
export function parseVersion(given: string | null | undefined): Version {
  const text = given?.trim() ?? ''
  if (text === '') return '0.3'
  const [, version] = /^(\d{1,3}\.\d{1,3})(?:\.\d{1,5})?$/.exec(text) ?? []
  if (version === '1.0' || version === '0.3') return version
  throw a2aError('VERSION_NOT_SUPPORTED', `A2A version ${text.slice(0, 20)} is not supported; use 1.0 or 0.3`, {
    supported: '1.0,0.3',
  })
}

/** Rejects a request whose version header contradicts the operation that it calls. */
export function requireVersion(version: Version, wanted: Version, what: string): void {
  if (version === wanted) return
  throw a2aError('VERSION_NOT_SUPPORTED', `${what} belongs to A2A ${wanted}: send the header A2A-Version: ${wanted}`, {
    supported: '1.0,0.3',
  })
}

/** Rejects features of 1.0 in 0.3 requests, explicit or by default. */
export function requireCurrent(version: Version, what: string): void {
  requireVersion(version, '1.0', what)
}
