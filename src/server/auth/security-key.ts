/** One key that everybody shares who may call: the way in which AgentOS is guarded. */
import { createHash, timingSafeEqual } from 'node:crypto'
import { type Authenticator, credentialMissing, credentialRefused, localPrincipal } from '../../core/model/principal.ts'

/** Whoever has the key is `local`; any other credential is for the others to judge. */
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

/** Hashes have one length, so that comparing them tells nothing about that of the key. */
function hashOf(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
