/** The caller of a request: identified once per request by an authenticator, passed to every command of the service (SEC-1). */
import type { CallerCredential } from './caller-credential.ts'
import { HoldfastError } from './errors.ts'

/** The caller of a request. Runs, sessions and documents belong to a principal. */
export interface Principal {
  readonly id: string
  /** The same id in another tenant is a different principal. */
  readonly tenant?: string
  /** Display name. Not used for decisions. */
  readonly name?: string
  /** Scopes of what it owns (`scopes.ts`). Absent: all permissions. Empty: none. */
  readonly scopes?: readonly string[]
  /** Facts about the presented credential. Connections that it opened are closed when it ends. */
  readonly credential?: CredentialInfo
  /** Id of the share link it calls with. The principal is then the run's owner, restricted to what the link allows. */
  readonly share?: string
  /** Client address, for the audit log. */
  readonly from?: string
  /** Its credential, if upstreams get it. */
  readonly forwarded?: CallerCredential
  /** Set while no upstream has accepted its credential, which only an upstream can verify. The limits of its network apply. */
  readonly unverified?: { readonly network?: string }
}

/** Facts about a credential, without the secret. */
export interface CredentialInfo {
  /** Identifies it in the audit log and for `isRevoked`. Never the secret. */
  readonly id?: string
  /** Expiry, in milliseconds since 1970. */
  readonly expiresAt?: number
  /** For a share link: owner of its document. */
  readonly owner?: string
}

/** The credentials of a request. */
export interface Credential {
  /** The token of an `Authorization: Bearer` header. */
  readonly bearer?: string
  /** The token of a share link. */
  readonly share?: string
  /** Address of the client, or of the proxy before it. */
  readonly from?: string
  /** The whole request, if the host application authenticates. */
  readonly request?: HostRequest
}

/** A request to a mounted server, as the surrounding application sees it. */
export interface HostRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  /** The request object of the application's middleware: Node's request with added properties, or a web `Request`. */
  readonly raw: unknown
}

/** `host`: the application that the server is mounted in authenticates, alone or before keys and tokens. */
export type AuthScheme = 'none' | 'keys' | 'jwt' | 'keys+jwt' | 'host'

/** Identifies the caller from a request's credentials. */
export interface Authenticator {
  readonly scheme: AuthScheme
  /** Throws `unauthenticated`, or `unavailable` if the credential cannot be checked now. */
  authenticate(credential: Credential): Promise<Principal>
  /** Whether a valid credential has been revoked since. Called about once per second for each credential with open connections. */
  isRevoked?(credential: CredentialInfo): Promise<boolean>
  /** Removes, or with `dryRun` counts, the stored credentials of a principal. Resolves with their number. */
  removeCredentials?(who: Principal, options: { readonly dryRun: boolean }): Promise<number>
}

/** Every caller of a server without authentication. */
export const localPrincipal: Principal = { id: 'local' }

/** The principal of an API key without an explicit one. */
export function keyPrincipalId(keyName: string): string {
  return KEY_ID_PREFIX + keyName
}

/** Ids that only this server assigns: a token issuer must not be able to claim them. */
export function isReservedId(id: string): boolean {
  return id === localPrincipal.id || RESERVED_PREFIXES.some((prefix) => id.startsWith(prefix))
}

const KEY_ID_PREFIX = 'key:'
const SHARE_ID_PREFIX = 'share:'
const CALLER_ID_PREFIX = 'caller:'
const RESERVED_PREFIXES = [KEY_ID_PREFIX, SHARE_ID_PREFIX, CALLER_ID_PREFIX]

/** The principal of a key that only an upstream can verify, by a keyed hash of the key. */
export function callerPrincipalId(hash: string): string {
  return CALLER_ID_PREFIX + hash
}

/** Name of a share link in logs: its id, never its token. */
export function shareKey(id: string): string {
  return SHARE_ID_PREFIX + id
}

/** Who acts: the owner itself, or the share link it uses. */
export function actorOf(principal: Principal): string {
  return principal.share === undefined ? ownerKey(principal) : shareKey(principal.share)
}

/** The key that the principal's limits are counted under. No owner key has a `%` before an `n`. */
export function limitedAs(principal: Principal): string {
  const network = principal.unverified?.network
  return network === undefined ? actorOf(principal) : `%network ${network}`
}

/** The string that identifies a principal as owner. Unique, also after a round trip through UTF-8. */
export function ownerKey(principal: Principal): string {
  const id = escape(principal.id)
  return principal.tenant === undefined ? id : `${escape(principal.tenant)}/${id}`
}

/** The principal of an owner key, for work that the server does on its behalf. */
export function principalOf(owner: string): Principal {
  const [first = '', second] = owner.split('/', 2).map(unescape)
  return second === undefined ? { id: first } : { id: second, tenant: first }
}

function unescape(part: string): string {
  return part.replace(/%(?:u([0-9A-F]{4})|([0-9A-F]{2}))/g, (_match, long?: string, short?: string) =>
    String.fromCharCode(Number.parseInt(long ?? short ?? '', 16)),
  )
}

/** A lone surrogate has no UTF-8 form: stores would replace all of them with the same character. */
const TO_ESCAPE = /[%/\p{Cc}\p{Cs}]/gu

function escape(part: string): string {
  return part.replace(TO_ESCAPE, (character) => {
    const hex = character.charCodeAt(0).toString(16).toUpperCase()
    return hex.length <= 2 ? `%${hex.padStart(2, '0')}` : `%u${hex}`
  })
}

/** Owner of everything on a server without authentication. No per-principal limits apply to it. */
export const localOwner: string = ownerKey(localPrincipal)

/** The error for a missing credential. */
export function credentialMissing(): HoldfastError {
  return new HoldfastError('unauthenticated', 'a credential is required: send it as Authorization: Bearer <credential>')
}

/**
 * The error for an invalid credential. One message for every reason, so that a caller cannot probe which part was wrong. The cause
 * goes to the server's log.
 */
export function credentialRefused(cause?: unknown): HoldfastError {
  return new HoldfastError('unauthenticated', 'the credential is not valid', { cause })
}
