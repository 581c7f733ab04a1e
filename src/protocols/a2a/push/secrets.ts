/** Secrets of a push configuration: stored encrypted, sent to the receiver, never shown in responses. */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { SecretBox } from '../../../core/ports/secret-box.ts'
import type { PushConfig } from '../wire/wire.ts'
import { deliveryId } from './deliveries.ts'

interface PushSecrets {
  readonly token?: string
  readonly credentials?: string
}

/** The configuration as shown in responses. */
export function withoutSecrets({ token: _token, authentication, ...config }: PushConfig): PushConfig {
  return authentication === undefined ? config : { ...config, authentication: { scheme: authentication.scheme } }
}

/** Undefined if the configuration has no secrets. */
export function sealSecrets(config: PushConfig, box: SecretBox | undefined): string | undefined {
  const { token = '', authentication } = config
  const { credentials = '' } = authentication ?? {}
  if (token === '' && credentials === '') return undefined
  if (box === undefined)
    throw new HoldfastError(
      'unsupported',
      'this server has no secret key, so it cannot store webhook credentials: leave out token and authentication.credentials, or ask the operator to set --secret-key',
    )
  const secrets: PushSecrets = { ...(token !== '' && { token }), ...(credentials !== '' && { credentials }) }
  return box.seal(JSON.stringify(secrets), contextOf(config))
}

/** The configuration with decrypted secrets. */
export function withSecrets(config: PushConfig, sealed: string | undefined, box: SecretBox | undefined): PushConfig {
  if (sealed === undefined) return config
  if (box === undefined)
    throw new Error('the webhook credentials are encrypted, but no secret key is configured: set --secret-key')
  const { token, credentials } = JSON.parse(box.open(sealed, contextOf(config))) as PushSecrets
  const { authentication } = config
  return {
    ...config,
    ...(token !== undefined && { token }),
    ...(authentication !== undefined && {
      authentication: { ...authentication, ...(credentials !== undefined && { credentials }) },
    }),
  }
}

function contextOf({ taskId, id }: PushConfig): string {
  return `a2a.push ${deliveryId(taskId, id)}`
}
