/** Security of an engine: authentication, share links, audit log and stored credentials. */
import { Audit } from '../core/access/audit.ts'
import { CallerCredentials } from '../core/access/caller-credentials.ts'
import { CredentialWatch } from '../core/access/credential-watch.ts'
import { ShareLinks } from '../core/access/share-links.ts'
import { UnverifiedCallers } from '../core/access/unverified-callers.ts'
import { UnverifiedStorage } from '../core/access/unverified-storage.ts'
import { HoldfastError } from '../core/model/errors.ts'
import type { Limits } from '../core/model/limits.ts'
import type { Authenticator } from '../core/model/principal.ts'
import type { Clock, Ids } from '../core/ports/clock.ts'
import { sourcesIn } from '../core/ports/component-source.ts'
import type { Logger } from '../core/ports/logger.ts'
import type { SecretBox } from '../core/ports/secret-box.ts'
import { loggedAudit } from './audit-sinks.ts'
import { auditedAuthenticator } from './auth/audited.ts'
import { hostAuthenticator } from './auth/host.ts'
import { openAuthenticator } from './auth/index.ts'
import { sharedAuthenticator } from './auth/shared.ts'
import type { EngineOptions } from './engine-options.ts'
import { createSecretBox, KEY_BYTES } from './secrets/secret-box.ts'
import { parseSecretKey } from './secrets/secret-keys.ts'
import { shareSigner, storeHash } from './secrets/share-signer.ts'

interface SecurityDeps {
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: Limits
  readonly logger: Logger
}

export interface Security {
  readonly secrets: SecretBox | undefined
  readonly audit: Audit
  readonly shares: ShareLinks
  readonly authenticator: Authenticator
  readonly credentials: CredentialWatch
  /** Set if upstreams get the credentials of callers. */
  readonly callerCredentials: CallerCredentials | undefined
}

export async function openSecurity(
  options: EngineOptions,
  { clock, ids, limits, logger }: SecurityDeps,
): Promise<Security> {
  const { store } = options
  const secrets = secretsFor(options)
  const unverified = new UnverifiedCallers(limits, clock, new UnverifiedStorage(store, clock))
  const checked = await authenticatorFor(options, clock, secrets, unverified)
  const audit = new Audit(clock, [
    ...(checked.scheme === 'none' ? [] : [loggedAudit(logger)]),
    ...(options.audit === undefined ? [] : [options.audit]),
  ])
  const shares = new ShareLinks({ store, clock, ids, limits, signer: shareSigner(store, secrets) })
  const authenticator = auditedAuthenticator(sharedAuthenticator(checked, shares), audit)
  const credentials = new CredentialWatch(authenticator, clock)
  const callerCredentials = forwardsCredentials(options)
    ? new CallerCredentials(store.documents, secrets, unverified)
    : undefined
  return { secrets, audit, shares, authenticator, credentials, callerCredentials }
}

/** `authenticate` comes first; `auth` decides about requests for which it returns null. */
async function authenticatorFor(
  { authenticate, auth, store }: EngineOptions,
  clock: Clock,
  secrets: SecretBox | undefined,
  unverified: UnverifiedCallers,
): Promise<Authenticator> {
  const digest = storeHash(store, 'caller', secrets)
  const hash = async (text: string): Promise<string> => (await digest(text)).toString('base64url')
  const isAccepted = (owner: string): boolean => unverified.isAccepted(owner)
  const others = await openAuthenticator(auth ?? {}, clock, { hash, isAccepted })
  if (authenticate === undefined) return others
  return hostAuthenticator(authenticate, others.scheme === 'none' ? undefined : others)
}

/** Whether upstreams get the credentials of callers. Throws unless authentication provides them and an upstream verifies them. */
function forwardsCredentials({ auth = {}, components }: EngineOptions): boolean {
  const isOn = 'passthrough' in auth && auth.passthrough === true
  const source = sourcesIn(components).find((each) => each.forwardsCredentials === true)
  if (source !== undefined && !isOn)
    throw new HoldfastError(
      'invalid_request',
      `the upstream ${source.name} gets the caller's credential, which this server only has with auth: { passthrough: true }`,
    )
  if (isOn && source === undefined)
    throw new HoldfastError(
      'invalid_request',
      'with auth: { passthrough: true } an upstream must verify the credentials of callers, and none gets them: set forwardCredential, or leave out the keys of an upstream (--auth passthrough)',
    )
  return isOn
}

function secretsFor({ secretKeys = [], store }: EngineOptions): SecretBox | undefined {
  if (secretKeys.length > 0) return createSecretBox(secretKeys.map(parseSecretKey))
  if (store.capabilities.durable) return undefined
  return createSecretBox([process.getBuiltinModule('node:crypto').randomBytes(KEY_BYTES)])
}
