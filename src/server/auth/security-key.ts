/** One key shared by all callers, as in AgentOS. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { type Authenticator, credentialMissing, credentialRefused, localPrincipal } from '../../core/model/principal.ts'

/** The key authenticates the principal `local`; other credentials go to `others`. */
export function securityKeyAuthenticator(key: string, others?: Authenticator): Authenticator {
  const expected = hashOf(key)
  return {
    scheme: others === undefined || others.scheme === 'keys' ? 'keys' : 'keys+jwt',
    async authenticate(credential) {
      if (credential.bearer === undefined) throw credentialMissing()
      if (timingSafeEqual(hashOf(credential.bearer), expected)) return localPrincipal
      if (others === undefined) throw credentialRefused()
      return others.authenticate(credential)
    },
    isRevoked: async (credential) => (await others?.isRevoked?.(credential)) === true,
    removeCredentials: async (who, how) => (await others?.removeCredentials?.(who, how)) ?? 0,
  }
}

/** Comparing hashes hides the key's length. */
function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
