/** Push configurations: one document each, labelled with their task. */
import type { Document } from '../../../core/model/document.ts'
import type { Ids } from '../../../core/ports/clock.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Limits } from '../../../core/model/limits.ts'
import type { OwnedDocuments } from '../../../core/sessions/owned-documents.ts'
import type { SecretBox } from '../../../core/ports/secret-box.ts'
import { PUSH_CONFIGS } from '../collections.ts'
import { a2aError, invalidParams } from '../wire/errors.ts'
import { beginDelivery, deliveryId, endDelivery } from './deliveries.ts'
import { sealSecrets, withoutSecrets, withSecrets } from './secrets.ts'
import type { Version } from '../requests/version.ts'
import type { PushConfig, PushConfigList, PushConfigRequest } from '../wire/wire.ts'

export interface StoredPushConfig {
  readonly component: string
  /** Without secrets. Configurations from earlier versions have them in plain text until they are replaced. */
  readonly config: PushConfig
  /** Its secrets, encrypted. */
  readonly sealed?: string
  /** A2A version of its notifications. */
  readonly version: Version
}

type WebhookLimits = Pick<Limits, 'maxWebhooksPerTask' | 'maxWebhooksPerPrincipal'>

const PAGE = 50
/** In 0.3 a configuration without an id is the task's only one. */
const LEGACY_ID = 'default'

export class PushConfigs {
  readonly #documents: OwnedDocuments
  readonly #component: string
  readonly #ids: Ids
  readonly #limits: WebhookLimits
  readonly #secrets: SecretBox | undefined

  constructor(
    documents: OwnedDocuments,
    component: string,
    ids: Ids,
    limits: WebhookLimits,
    secrets: SecretBox | undefined,
  ) {
    this.#documents = documents
    this.#component = component
    this.#ids = ids
    this.#limits = limits
    this.#secrets = secrets
  }

  /** `from`: log index after which events are delivered. */
  async create(task: string, request: PushConfigRequest, version: Version, from: number): Promise<PushConfig> {
    checkUrl(request.url)
    checkHeaders(request)
    const { id = '', url, token, authentication } = request
    const config: PushConfig = {
      taskId: task,
      id: id !== '' ? id : version === '0.3' ? LEGACY_ID : this.#ids.unique(),
      url,
      ...(token !== undefined && { token }),
      ...(authentication !== undefined && { authentication }),
    }
    await this.#checkRoom(task, config.id)
    const sealed = sealSecrets(config, this.#secrets)
    const visible = withoutSecrets(config)
    const body: StoredPushConfig = {
      component: this.#component,
      config: visible,
      version,
      ...(sealed !== undefined && { sealed }),
    }
    await this.#documents.put(
      { collection: PUSH_CONFIGS, id: deliveryId(task, config.id), label: task, body },
      undefined,
      { unredacted: true },
    )
    await beginDelivery(this.#documents, task, config.id, from, new URL(url).host)
    return visible
  }

  /** The limit applies to new configurations, not to replacements. */
  async #checkRoom(task: string, id: string): Promise<void> {
    const { maxWebhooksPerTask, maxWebhooksPerPrincipal } = this.#limits
    if ((await this.#documents.get(PUSH_CONFIGS, deliveryId(task, id))) !== undefined) return
    const count = async (label?: string): Promise<number> =>
      (await this.#documents.list({ collection: PUSH_CONFIGS, limit: 1, ...(label !== undefined && { label }) })).total
    if ((await count(task)) >= maxWebhooksPerTask)
      throw new HoldfastError(
        'quota_exceeded',
        `task ${task} has ${maxWebhooksPerTask} push configurations; remove one`,
      )
    if ((await count()) >= maxWebhooksPerPrincipal)
      throw new HoldfastError('quota_exceeded', `you have ${maxWebhooksPerPrincipal} push configurations; remove one`)
  }

  async get(task: string, id: string): Promise<PushConfig> {
    const found = await this.#documents.get(PUSH_CONFIGS, deliveryId(task, id))
    if (found === undefined)
      throw a2aError('TASK_NOT_FOUND', `task ${task} has no push configuration ${id.slice(0, 100)}`)
    return configIn(found)
  }

  async list(task: string, pageSize = PAGE, pageToken = ''): Promise<PushConfigList> {
    const offset = pageToken === '' ? 0 : Number(pageToken)
    if (!Number.isSafeInteger(offset) || offset < 0)
      throw invalidParams('pageToken is invalid: use the nextPageToken of a page')
    const limit = Math.min(Math.max(pageSize === 0 ? PAGE : pageSize, 1), PAGE)
    const page = await this.#documents.list({ collection: PUSH_CONFIGS, label: task, ascending: true, offset, limit })
    const next = offset + page.documents.length
    return { configs: page.documents.map(configIn), nextPageToken: next < page.total ? String(next) : '' }
  }

  async remove(task: string, id: string): Promise<void> {
    await this.#documents.remove(PUSH_CONFIGS, deliveryId(task, id))
    await endDelivery(this.#documents, task, id)
  }
}

function configIn({ body }: Document): PushConfig {
  return withoutSecrets((body as StoredPushConfig).config)
}

/** A stored configuration with decrypted secrets. Throws if decryption fails. */
export function deliverable({ body }: Document, secrets: SecretBox | undefined): StoredPushConfig {
  const stored = body as StoredPushConfig
  return { ...stored, config: withSecrets(stored.config, stored.sealed, secrets) }
}

/** The address itself is checked at delivery. */
function checkUrl(url: string): void {
  const parsed = URL.parse(url)
  if (parsed !== null && (parsed.username !== '' || parsed.password !== ''))
    throw invalidParams(
      'the url of a push configuration must not contain a password, because responses show the url; use authentication',
      [{ field: 'url', description: 'has a user name or a password' }],
    )
  if (/^https?:$/.test(parsed?.protocol ?? '')) return
  throw invalidParams('the url of a push configuration must begin with https:// or http://', [
    { field: 'url', description: 'is not an http(s) address' },
  ])
}

/** Values sent as headers must be valid header text. */
function checkHeaders({ token, authentication }: PushConfigRequest): void {
  const headers = {
    token,
    'authentication.scheme': authentication?.scheme,
    'authentication.credentials': authentication?.credentials,
  }
  for (const [field, value = ''] of Object.entries(headers)) {
    if (/^[\t\x20-\x7e]*$/.test(value)) continue
    const description = 'has a character that is not allowed in headers'
    throw invalidParams(`the ${field} of a push configuration ${description}`, [{ field, description }])
  }
}
