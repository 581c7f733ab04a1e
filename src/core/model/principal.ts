/** Who is calling: found out once per request by an authenticator, carried by every command of the service (SEC-1). */
import type { CallerCredential } from './caller-credential.ts'
import { HoldfastError } from './errors.ts'

/** Who is calling. Runs, sessions and documents belong to one. */
export interface Principal {
  readonly id: string
  /** The same id in another tenant is a different principal. */
  readonly tenant?: string
  /** For people to read; decides nothing. */
  readonly name?: string
  /** What it may do with what it owns (`scopes.ts`): everything if absent, nothing if empty. */
  readonly scopes?: readonly string[]
  /** Facts about the presented credential. What was opened with it closes when it ends. */
  readonly credential?: CredentialInfo
  /** Id of the share link that it calls with: then it acts for the owner of a run, within what the link allows. */
  readonly share?: string
  /** Address that it calls from, for the audit log. */
  readonly from?: string
  /** Its credential, if upstreams get it. */
  readonly forwarded?: CallerCredential
  /** Only an upstream can check its credential, and none has accepted it yet. Then the limits of its network apply. */
  readonly unverified?: { readonly network?: string }
}

/** What is known of a credential without the credential itself. */
export interface CredentialInfo {
  /** Names it in the audit log and to `isRevoked`; never the secret. */
  readonly id?: string
  /** When it stops being valid, in milliseconds since 1970. */
  readonly expiresAt?: number
  /** Owner of a share link's document. */
  readonly owner?: string
}

/** What a request brings to show who it is from. */
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

/** A request to a mounted server, as the application around it sees it. */
export interface HostRequest {
  readonly method: string
  readonly url: string
  readonly headers: Headers
  /** What the application's middleware saw: Node's request with what was added to it, or a web `Request`. */
  readonly raw: unknown
}

/** `host`: the application that the server is mounted in decides, alone or before keys and tokens. */
export type AuthScheme = 'none' | 'keys' | 'jwt' | 'keys+jwt' | 'host'

/** Finds out who is calling from a request's credential. */
export interface Authenticator {
  readonly scheme: AuthScheme
  /** Throws `unauthenticated`, or `unavailable` when the credential cannot be checked right now. */
  authenticate(credential: Credential): Promise<Principal>
  /** Whether a credential that was valid has been revoked since. Asked about every second for each that has something open. */
  isRevoked?(credential: CredentialInfo): Promise<boolean>
  /** Removes the credentials of a principal that this server keeps, or only counts them; how many there were. */
  removeCredentials?(who: Principal, options: { readonly dryRun: boolean }): Promise<number>
}

/** Everyone, on a server without authentication. */
export const localPrincipal: Principal = { id: 'local' }

/** The principal of an API key that was not given another one. */
export function keyPrincipalId(keyName: string): string {
  return KEY_ID_PREFIX + keyName
}

/** Ids that only this server gives out: a token issuer must not be able to name them in a claim. */
export function isReservedId(id: string): boolean {
  return id === localPrincipal.id || RESERVED_PREFIXES.some((prefix) => id.startsWith(prefix))
}

const KEY_ID_PREFIX = 'key:'
const SHARE_ID_PREFIX = 'share:'
const CALLER_ID_PREFIX = 'caller:'
const RESERVED_PREFIXES = [KEY_ID_PREFIX, SHARE_ID_PREFIX, CALLER_ID_PREFIX]

/** The principal of a key that only an upstream can check, by a keyed hash of it. */
export function callerPrincipalId(hash: string): string {
  return CALLER_ID_PREFIX + hash
}

/** How a share link is named in logs: by its id, never by its token. */
export function shareKey(id: string): string {
  return SHARE_ID_PREFIX + id
}

/** Who acts: the owner itself, or the share link that it is done with. */
export function actorOf(principal: Principal): string {
  return principal.share === undefined ? ownerKey(principal) : shareKey(principal.share)
}

/** Whose limits apply to what the principal holds and starts. No owner key has a `%` before an `n`. */
export function limitedAs(principal: Principal): string {
  const network = principal.unverified?.network
  return network === undefined ? actorOf(principal) : `%network ${network}`
}

/** The string that runs are owned by. No two principals share one, also after a round trip through UTF-8. */
export function ownerKey(principal: Principal): string {
  const id = escape(principal.id)
  return principal.tenant === undefined ? id : `${escape(principal.tenant)}/${id}`
}

/** The principal with this key, for work that the server does on its behalf. */
export function principalOf(owner: string): Principal {
  const [first = '', second] = owner.split('/', 2).map(unescape)
  return second === undefined ? { id: first } : { id: second, tenant: first }
}

function unescape(part: string): string {
  return part.replace(/%(?:u([0-9A-F]{4})|([0-9A-F]{2}))/g, (_match, long?: string, short?: string) =>
    String.fromCharCode(Number.parseInt(long ?? short ?? '', 16)),
  )
}

/** A lone surrogate has no UTF-8, so stores would turn all of them into the same replacement character. */
const TO_ESCAPE = /[%/\p{Cc}\p{Cs}]/gu

function escape(part: string): string {
  return part.replace(TO_ESCAPE, (character) => {
    const hex = character.charCodeAt(0).toString(16).toUpperCase()
    return hex.length <= 2 ? `%${hex.padStart(2, '0')}` : `%u${hex}`
  })
}

/** Owner of what everyone on a server without authentication shares: no share per principal applies to it. */
export const localOwner: string = ownerKey(localPrincipal)

/** The request brought no credential to a server that needs one. */
export function credentialMissing(): HoldfastError {
  return new HoldfastError('unauthenticated', 'a credential is required: send it as Authorization: Bearer <credential>')
}

/** One message for every reason, so that a caller cannot probe which part was wrong; the cause is for the server's log. */
export function credentialRefused(cause?: unknown): HoldfastError {
  return new HoldfastError('unauthenticated', 'the credential is not valid', { cause })
}
