/** The secrets of a push configuration. They are stored encrypted and sent to the receiver; no answer has them. */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { SecretBox } from '../../../core/ports/secret-box.ts'
import type { PushConfig } from '../wire/wire.ts'
import { deliveryId } from './deliveries.ts'

interface PushSecrets {
  readonly token?: string
  readonly credentials?: string
}

/** The configuration as answers show it. */
export function withoutSecrets({ token: _token, authentication, ...config }: PushConfig): PushConfig {
  return authentication === undefined ? config : { ...config, authentication: { scheme: authentication.scheme } }
}

/** Undefined where the configuration has no secret. */
export function sealSecrets(config: PushConfig, box: SecretBox | undefined): string | undefined {
  const { token = '', authentication } = config
  const { credentials = '' } = authentication ?? {}
  if (token === '' && credentials === '') return undefined
  if (box === undefined)
    throw new HoldfastError(
      'unsupported',
      'this server has no secret key and stores no credentials of webhooks: leave out token and authentication.credentials, or have its operator set --secret-key',
    )
  const secrets: PushSecrets = { ...(token !== '' && { token }), ...(credentials !== '' && { credentials }) }
  return box.seal(JSON.stringify(secrets), contextOf(config))
}

/** The configuration with its secrets, to notify the receiver. */
export function withSecrets(config: PushConfig, sealed: string | undefined, box: SecretBox | undefined): PushConfig {
  if (sealed === undefined) return config
  if (box === undefined)
    throw new Error('the credentials of the webhook are encrypted, and no secret key is configured: set --secret-key')
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
