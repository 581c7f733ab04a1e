/** Builds the authenticator: API keys, tokens, both, or none. Loads only the modules it needs. */
import { aBoolean, anything, checkOptions, type OptionRules } from '../../core/model/check-options.ts'
import type { Clock } from '../../core/ports/clock.ts'
import { systemClock } from '../../core/ports/clock.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import type { Authenticator } from '../../core/model/principal.ts'
import { credentialMissing, localPrincipal } from '../../core/model/principal.ts'
import type { JwtOptions } from './jwt.ts'
import type { PassthroughParts } from './passthrough.ts'

export type { JwtOptions } from './jwt.ts'

/** How callers are authenticated: API keys, JWTs, or one shared key. */
export interface AuthOptions {
  /** Path of a file of API keys. Default: no API keys. */
  readonly keys?: string | undefined
  /** Accept JSON Web Tokens. Default: no tokens. */
  readonly jwt?: JwtOptions | undefined
  /** One key shared by all callers, as in AgentOS. Default: none. */
  readonly securityKey?: string | undefined
  /**
   * Accept any bearer credential and forward it to upstreams with `forwardCredential`, which verify it. Cannot be combined with
   * `keys` or `securityKey`. Default: false.
   */
  readonly passthrough?: boolean | undefined
}

/** Long enough that a random key cannot be guessed while the server runs. */
export const SECURITY_KEY_CHARS_MIN = 16
export const tooShort = `is shorter than ${SECURITY_KEY_CHARS_MIN} characters: use the output of openssl rand -hex 24`

const AUTH_RULES: OptionRules<AuthOptions> = {
  keys: anything,
  jwt: anything,
  securityKey: anything,
  passthrough: aBoolean,
}

/** An `Authenticator` is used unchanged. */
export async function openAuthenticator(
  options: AuthOptions | Authenticator,
  clock: Clock = systemClock,
  passthrough?: PassthroughParts,
): Promise<Authenticator> {
  if ('authenticate' in options) return options
  checkOptions('auth', options, AUTH_RULES)
  const keys =
    options.keys === undefined
      ? undefined
      : await (await import('./api-keys.ts')).openKeyAuthenticator(options.keys, clock)
  const jwt =
    options.jwt === undefined ? undefined : await (await import('./jwt.ts')).openJwtAuthenticator(options.jwt, clock)
  if (options.passthrough === true) {
    if (keys !== undefined || options.securityKey !== undefined)
      throw new HoldfastError('invalid_request', 'auth: passthrough cannot be combined with API keys or a shared key')
    if (passthrough === undefined) throw new HoldfastError('internal', 'auth: passthrough needs a keyed hash')
    const { passthroughAuthenticator } = await import('./passthrough.ts')
    return passthroughAuthenticator(passthrough, jwt)
  }
  const others = keys && jwt ? await both(keys, jwt) : (keys ?? jwt)
  if (options.securityKey === undefined) return others ?? everyoneIsLocal
  if (options.securityKey.length < SECURITY_KEY_CHARS_MIN)
    throw new HoldfastError('invalid_request', `the shared key ${tooShort}`)
  const { securityKeyAuthenticator } = await import('./security-key.ts')
  return securityKeyAuthenticator(options.securityKey, others)
}

const everyoneIsLocal: Authenticator = {
  scheme: 'none',
  authenticate: () => Promise.resolve(localPrincipal),
}

async function both(keys: Authenticator, jwt: Authenticator): Promise<Authenticator> {
  const { KEY_PREFIX } = await import('./api-keys.ts')
  return {
    scheme: 'keys+jwt',
    async authenticate(credential) {
      if (credential.bearer === undefined) throw credentialMissing()
      return (credential.bearer.startsWith(KEY_PREFIX) ? keys : jwt).authenticate(credential)
    },
    isRevoked: async (credential) => (await keys.isRevoked?.(credential)) === true,
    removeCredentials: async (who, how) => (await keys.removeCredentials?.(who, how)) ?? 0,
  }
}
