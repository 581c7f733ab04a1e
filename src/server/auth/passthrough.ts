/** Accepts credentials that only an upstream can verify: they identify the caller, and upstreams get them. */
import { CallerCredential } from '../../core/model/caller-credential.ts'
import { type Authenticator, callerPrincipalId, credentialMissing, ownerKey } from '../../core/model/principal.ts'

export interface PassthroughParts {
  /** Keyed hash of a text, equal on every node. */
  readonly hash: (text: string) => Promise<string>
  /** Whether an upstream has accepted the credential of this owner. */
  readonly isAccepted: (owner: string) => boolean
}

/** Three parts in base64url, the first of which is a JSON object. */
const TOKEN = /^eyJ[\w-]*\.[\w-]+\.[\w-]+$/

/**
 * `jwt` verifies tokens, and their claim is the principal, so that a new token has access to the runs of an old one. Every other
 * credential is a static key: its holder owns the runs started with it.
 */
export function passthroughAuthenticator(
  { hash, isAccepted }: PassthroughParts,
  jwt: Authenticator | undefined,
): Authenticator {
  return {
    scheme: jwt === undefined ? 'keys' : 'keys+jwt',
    async authenticate(credential) {
      const { bearer } = credential
      if (bearer === undefined) throw credentialMissing()
      const forwarded = new CallerCredential(bearer)
      if (jwt !== undefined && TOKEN.test(bearer)) return { ...(await jwt.authenticate(credential)), forwarded }
      const principal = { id: callerPrincipalId(await hash(bearer)), forwarded }
      return isAccepted(ownerKey(principal)) ? principal : { ...principal, unverified: {} }
    },
  }
}
