/** Wraps an authenticator: audits rejected credentials and adds the client's address to principals. */
import type { Audit } from '../../core/access/audit.ts'
import type { Authenticator } from '../../core/model/principal.ts'

export function auditedAuthenticator(authenticator: Authenticator, audit: Audit): Authenticator {
  return {
    scheme: authenticator.scheme,
    async authenticate(credential) {
      const { from } = credential
      try {
        const principal = await authenticator.authenticate(credential)
        return from === undefined ? principal : { ...principal, from }
      } catch (cause) {
        audit.refused(from, cause)
        throw cause
      }
    },
    isRevoked: async (credential) => (await authenticator.isRevoked?.(credential)) === true,
    removeCredentials: async (who, how) => (await authenticator.removeCredentials?.(who, how)) ?? 0,
  }
}
