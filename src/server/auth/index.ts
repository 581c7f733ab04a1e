/** Chooses how callers are recognized: API keys, tokens, both, or not at all. */
import type { Clock } from '../../core/clock.ts'
import { systemClock } from '../../core/clock.ts'
import type { Authenticator } from '../../core/principal.ts'
import { credentialMissing, localPrincipal } from '../../core/principal.ts'
import type { JwtOptions } from './jwt.ts'
import { openJwtAuthenticator } from './jwt.ts'
import { KEY_PREFIX, openKeyAuthenticator } from './keys.ts'
import { securityKeyAuthenticator } from './security-key.ts'

export type { JwtOptions } from './jwt.ts'

export interface AuthOptions {
  /** Path of a file of API keys. */
  readonly keys?: string | undefined
  readonly jwt?: JwtOptions | undefined
  /** One key that all who may call share, as AgentOS has it. */
  readonly securityKey?: string | undefined
}

export async function openAuthenticator(options: AuthOptions, clock: Clock = systemClock): Promise<Authenticator> {
  const keys = options.keys === undefined ? undefined : await openKeyAuthenticator(options.keys, clock)
  const jwt = options.jwt === undefined ? undefined : await openJwtAuthenticator(options.jwt, clock)
  const others = keys && jwt ? both(keys, jwt) : (keys ?? jwt)
  return options.securityKey === undefined
    ? (others ?? everyoneIsLocal)
    : securityKeyAuthenticator(options.securityKey, others)
}

const everyoneIsLocal: Authenticator = {
  scheme: 'none',
  authenticate: () => Promise.resolve(localPrincipal),
}

function both(keys: Authenticator, jwt: Authenticator): Authenticator {
  return {
    scheme: 'keys+jwt',
    async authenticate(credential) {
      if (credential.bearer === undefined) throw credentialMissing()
      return (credential.bearer.startsWith(KEY_PREFIX) ? keys : jwt).authenticate(credential)
    },
  }
}
