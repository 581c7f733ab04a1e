/** Credentials that only an upstream can check: they say who calls, and upstreams get them. */
import { CallerCredential } from '../../core/model/caller-credential.ts'
import { type Authenticator, callerPrincipalId, credentialMissing } from '../../core/model/principal.ts'

/** Keyed hash of a text, the same on every node. */
export type KeyedHash = (text: string) => Promise<string>

/** Three parts in base64url, the first of which is a JSON object. */
const TOKEN = /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/

/**
 * Tokens are checked by `jwt`, and their claim is the principal, so that a new token finds the runs of an old one. Everything else is
 * a static key: whoever has it owns the runs that were started with it.
 */
export function passthroughAuthenticator(hash: KeyedHash, jwt: Authenticator | undefined): Authenticator {
  return {
    scheme: jwt === undefined ? 'keys' : 'keys+jwt',
    async authenticate(credential) {
      const { bearer } = credential
      if (bearer === undefined) throw credentialMissing()
      const principal =
        jwt !== undefined && TOKEN.test(bearer)
          ? await jwt.authenticate(credential)
          : { id: callerPrincipalId(await hash(bearer)) }
      return { ...principal, forwarded: new CallerCredential(bearer) }
    },
  }
}
