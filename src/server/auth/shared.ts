/** Adds share links to an authenticator. */
import { type Authenticator, credentialRefused } from '../../core/model/principal.ts'
import { SHARE_PREFIX, type ShareLinks } from '../../core/access/share-links.ts'

export function sharedAuthenticator(authenticator: Authenticator, shares: ShareLinks): Authenticator {
  return {
    scheme: authenticator.scheme,
    async authenticate(credential) {
      if (credential.share !== undefined) return shares.authenticate(credential.share)
      // Routes without share links reject them even on a server without authentication.
      if (credential.bearer?.startsWith(SHARE_PREFIX) === true) throw credentialRefused()
      return authenticator.authenticate(credential)
    },
    isRevoked: async (credential) =>
      (await shares.isRevoked(credential)) ?? (await authenticator.isRevoked?.(credential)) === true,
    removeCredentials: async (who, how) => (await authenticator.removeCredentials?.(who, how)) ?? 0,
  }
}
