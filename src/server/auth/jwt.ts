/** Principals from JSON Web Tokens, verified with jose. */
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from 'jose'
import type { Clock } from '../../core/ports/clock.ts'
import { systemClock } from '../../core/ports/clock.ts'
import { HoldfastError, isHoldfastError } from '../../core/model/errors.ts'
import { defaultLimits } from '../../core/model/limits.ts'
import type { Authenticator, Principal } from '../../core/model/principal.ts'
import { credentialMissing, credentialRefused, isReservedId } from '../../core/model/principal.ts'
import { openKeySet } from './jwks.ts'
import { SCOPES_MAX } from './key-file.ts'
import { publicAlgorithms, readVerificationKey } from './jwt-key.ts'

/** Either `jwks` or `key`. */
export interface JwtOptions {
  /** URL or path of a key set. A set with several keys of one type needs a `kid` on each. A file is read once. Default: none; then `key` is required. */
  readonly jwks?: string | undefined
  /** PEM or JWK text, `secret:TEXT`, `secret-file:PATH`, or the path of a PEM or JWK file. Default: none; then `jwks` is required. */
  readonly key?: string | undefined
  /** If set, tokens must have this issuer. Default: any issuer. */
  readonly issuer?: string | undefined
  /** If set, tokens must have this audience. If not, tokens issued for other services are accepted too. Default: any audience. */
  readonly audience?: string | undefined
  /** Restricts the algorithms that the key type allows. Default: all of them. */
  readonly algorithms?: readonly string[] | undefined
  /** Claim that names the principal. Tokens without it are rejected. Default: `sub`. */
  readonly principalClaim?: string | undefined
  /** Claim that names the tenant. If set, tokens without it are rejected. Default: no tenants. */
  readonly tenantClaim?: string | undefined
  /** Claim with the token's scopes: an array or a space-separated string. Default: `scopes`. */
  readonly scopesClaim?: string | undefined
  /** Reject tokens that never expire. Default: true. */
  readonly requireExpiry?: boolean | undefined
  /** Tolerated clock skew of the issuer, in seconds; at most 300. Default: 5. */
  readonly clockToleranceS?: number | undefined
}

const CLOCK_TOLERANCE_S = 5
const CLOCK_TOLERANCE_S_MAX = 300
const CLAIM_CHARS_MAX = defaultLimits.maxNameChars

export async function openJwtAuthenticator(options: JwtOptions, clock: Clock = systemClock): Promise<Authenticator> {
  // Loaded only by servers that accept tokens.
  const jose = await import('jose')
  const { resolve, algorithms } = await openKeys(jose, options, clock)
  const checks = {
    algorithms: [...narrowScopes(algorithms, options.algorithms)],
    clockTolerance: checkedTolerance(options.clockToleranceS ?? CLOCK_TOLERANCE_S),
    requiredClaims: options.requireExpiry === false ? [] : ['exp'],
    ...(options.issuer === undefined ? {} : { issuer: options.issuer }),
    ...(options.audience === undefined ? {} : { audience: options.audience }),
  } satisfies JWTVerifyOptions
  return {
    scheme: 'jwt',
    async authenticate({ bearer }) {
      if (bearer === undefined) throw credentialMissing()
      try {
        const verified = await jose.jwtVerify(bearer, resolve, { ...checks, currentDate: new Date(clock.now()) })
        const { payload } = verified
        return { ...toPrincipal(payload, options), ...scopesOf(payload, options), ...expiryOf(payload, checks) }
      } catch (cause) {
        throw isHoldfastError(cause) ? cause : credentialRefused(cause)
      }
    },
  }
}

interface Keys {
  readonly resolve: JWTVerifyGetKey
  readonly algorithms: readonly string[]
}

async function openKeys(jose: typeof import('jose'), { jwks, key }: JwtOptions, clock: Clock): Promise<Keys> {
  if (jwks !== undefined && key === undefined) {
    return { resolve: await openKeySet(jose, jwks, clock), algorithms: publicAlgorithms }
  }
  if (key !== undefined && jwks === undefined) {
    const found = await readVerificationKey(key)
    return { resolve: () => found.key, algorithms: found.algorithms }
  }
  throw new HoldfastError('invalid_request', 'JWT needs either a key set (jwks) or a key, not both')
}

function narrowScopes(possible: readonly string[], requested: readonly string[] = possible): readonly string[] {
  const unfit = requested.filter((algorithm) => !possible.includes(algorithm))
  if (unfit.length === 0 && requested.length > 0) return requested
  const what =
    requested.length === 0
      ? 'the list of JWT algorithms is empty'
      : `JWT algorithm ${unfit.join(', ')} does not fit the key`
  throw new HoldfastError('invalid_request', `${what}; the key supports ${possible.join(', ')}`)
}

function checkedTolerance(seconds: number): number {
  if (seconds >= 0 && seconds <= CLOCK_TOLERANCE_S_MAX) return seconds
  throw new HoldfastError('invalid_request', `the JWT clock tolerance must be 0 to ${CLOCK_TOLERANCE_S_MAX} seconds`)
}

function toPrincipal(payload: JWTPayload, { principalClaim = 'sub', tenantClaim }: JwtOptions): Principal {
  const id = claim(payload, principalClaim)
  if (isReservedId(id)) throw credentialRefused(new Error(`the claim ${principalClaim} is ${id}, which is reserved`))
  const { name } = payload
  return {
    id,
    ...(tenantClaim === undefined ? {} : { tenant: claim(payload, tenantClaim) }),
    ...(typeof name === 'string' && name.length <= CLAIM_CHARS_MAX ? { name } : {}),
  }
}

/** A token without the claim may do everything. A malformed claim allows nothing. */
function scopesOf(payload: JWTPayload, { scopesClaim = 'scopes' }: JwtOptions): Partial<Principal> {
  const value = Object.hasOwn(payload, scopesClaim) ? payload[scopesClaim] : undefined
  if (value === undefined) return {}
  const listed: readonly unknown[] = typeof value === 'string' ? value.split(' ') : Array.isArray(value) ? value : []
  return { scopes: listed.filter((scope) => typeof scope === 'string').slice(0, SCOPES_MAX) }
}

/** When the token expires: `exp` plus the clock tolerance. */
function expiryOf({ exp }: JWTPayload, { clockTolerance }: { readonly clockTolerance: number }): Partial<Principal> {
  return exp === undefined ? {} : { credential: { expiresAt: (exp + clockTolerance) * 1000 } }
}

function claim(payload: JWTPayload, name: string): string {
  const value = Object.hasOwn(payload, name) ? payload[name] : undefined
  if (typeof value === 'string' && value.length > 0 && value.length <= CLAIM_CHARS_MAX) return value
  throw credentialRefused(new Error(`the claim ${name} is not a string of 1 to ${CLAIM_CHARS_MAX} characters`))
}
