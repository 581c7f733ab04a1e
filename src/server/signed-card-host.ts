/** Checks that signed agent cards have a configured address. */
import { HoldfastError } from '../core/model/errors.ts'
import type { A2aOptions } from '../protocols/a2a/index.ts'

/** Without a configured address a card names the requested host, so any caller could get any host signed. */
export function assertSignedCardHost({ signer, url }: A2aOptions = {}): void {
  if (signer === undefined || url !== undefined) return
  throw new HoldfastError('invalid_request', 'a2a.signer needs a2a.url: the address that signed cards name')
}
