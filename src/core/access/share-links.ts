/**
 * Share links: signed, revocable links that permit certain actions on one run until they expire. Each link is a document of the run's
 * owner, so that every node knows it and removing it revokes it.
 */
import type { Clock, Ids } from '../ports/clock.ts'
import type { Document } from '../model/document.ts'
import { HoldfastError } from '../model/errors.ts'
import type { Limits } from '../model/limits.ts'
import { type CredentialInfo, credentialRefused, type Principal, principalOf, shareKey } from '../model/principal.ts'
import type { Store } from '../ports/store.ts'

export const shareActions = ['read', 'answer', 'stop'] as const
export type ShareAction = (typeof shareActions)[number]

export interface ShareRequest {
  /** Always includes `read`. */
  readonly can: readonly ShareAction[]
  readonly expiresInMs: number
}

export interface Share {
  readonly id: string
  readonly run: string
  readonly can: readonly ShareAction[]
  readonly createdAt: string
  readonly expiresAt: string
}

/** Signs with a secret that every node of the store has. */
export interface ShareSigner {
  sign(text: string): Promise<string>
  /** Takes constant time for wrong signatures. */
  verify(text: string, signature: string): Promise<boolean>
}

export interface ShareParts {
  readonly store: Store
  readonly clock: Clock
  readonly ids: Ids
  readonly limits: Pick<Limits, 'maxSharesPerRun' | 'maxSharesPerPrincipal'>
  readonly signer: ShareSigner
}

/** Prefix of a share token. */
export const SHARE_PREFIX = 'hfs_'

/** Collection of share links. The label is the run's id. */
export const SHARES = 'share'
const TOKEN = /^hfs_([\w~-]{1,100})\.([\w-]{1,100})\.([\w-]{43})$/
const EXPIRES_MS_MAX = 365 * 24 * 3_600_000
const PAGE = 200

export class ShareLinks {
  readonly #deps: ShareParts

  constructor(deps: ShareParts) {
    this.#deps = deps
  }

  /** The token is returned once and is not stored. */
  async create(
    owner: string,
    run: string,
    request: ShareRequest,
  ): Promise<{ readonly share: Share; readonly token: string }> {
    const { store, clock, ids, signer } = this.#deps
    const { can, expiresInMs } = checkRequest(request)
    await this.#makeRoom(owner, run)
    const id = ids.unique()
    const body = { run, can, expiresAt: clock.now() + expiresInMs }
    const document = await store.documents.put({ owner, collection: SHARES, id, label: run, body }, 0)
    if (document === undefined)
      throw new HoldfastError('conflict', 'the id of the share link is already in use: try again')
    return { share: shareIn(document), token: `${SHARE_PREFIX}${run}.${id}.${await signer.sign(signedText(run, id))}` }
  }

  /** Share links that have not expired, oldest first. */
  async list(owner: string, run: string): Promise<readonly Share[]> {
    const { documents } = await this.#of(owner, run)
    return documents.map(shareIn).filter((share) => !this.#isExpired(share))
  }

  /** Returns false if the run has no such link. */
  async revoke(owner: string, run: string, id: string): Promise<boolean> {
    const { documents } = this.#deps.store
    const found = await documents.get(owner, SHARES, id)
    if (found === undefined || shareIn(found).run !== run) return false
    return documents.remove(owner, SHARES, id)
  }

  /** Removes all links of a run that is being removed. */
  async removeAll(owner: string, run: string): Promise<void> {
    const { documents } = await this.#of(owner, run)
    for (const { id } of documents) await this.#deps.store.documents.remove(owner, SHARES, id)
  }

  /** The principal of a share link: the owner of its run, restricted to what the link allows. Throws `unauthenticated`. */
  async authenticate(token: string): Promise<Principal> {
    const { store, signer } = this.#deps
    const [, run = '', id = '', signature = ''] = TOKEN.exec(token) ?? []
    if (run === '' || !(await signer.verify(signedText(run, id), signature))) throw credentialRefused()
    const owner = (await store.get(run))?.run.owner
    const document = owner === undefined ? undefined : await store.documents.get(owner, SHARES, id)
    const share = document && shareIn(document)
    if (owner === undefined || share?.run !== run || this.#isExpired(share)) throw credentialRefused()
    return {
      ...principalOf(owner),
      share: id,
      scopes: share.can.map((action) => `run:${run}:${action}`),
      credential: { id: shareKey(id), owner, expiresAt: Date.parse(share.expiresAt) },
    }
  }

  /** Undefined if the credential is not a share link. */
  async isRevoked({ id, owner }: CredentialInfo): Promise<boolean | undefined> {
    if (owner === undefined || id === undefined) return undefined
    const { documents } = this.#deps.store
    return (await documents.get(owner, SHARES, id.slice(shareKey('').length))) === undefined
  }

  /** Removes the expired links of a run, and throws `quota_exceeded` if the others leave no room. */
  async #makeRoom(owner: string, run: string): Promise<void> {
    const { store, limits } = this.#deps
    const { documents } = await this.#of(owner, run)
    const expired = documents.filter((document) => this.#isExpired(shareIn(document)))
    for (const { id } of expired) await store.documents.remove(owner, SHARES, id)
    if (documents.length - expired.length >= limits.maxSharesPerRun)
      throw new HoldfastError(
        'quota_exceeded',
        `run ${run} has ${limits.maxSharesPerRun} share links, which is the limit: revoke one`,
      )
    const { total } = await store.documents.list({ collection: SHARES, owner, limit: 1 })
    if (total >= limits.maxSharesPerPrincipal)
      throw new HoldfastError(
        'quota_exceeded',
        `you have ${limits.maxSharesPerPrincipal} share links, which is the limit: revoke some`,
      )
  }

  #of(owner: string, run: string): Promise<{ readonly documents: readonly Document[] }> {
    const query = { collection: SHARES, owner, label: run, ascending: true, limit: PAGE } as const
    return this.#deps.store.documents.list(query)
  }

  #isExpired({ expiresAt }: Share): boolean {
    return this.#deps.clock.now() >= Date.parse(expiresAt)
  }
}

function checkRequest({ can, expiresInMs }: ShareRequest): ShareRequest {
  if (!can.includes('read') || can.some((action) => !shareActions.includes(action)))
    throw new HoldfastError('invalid_request', 'can must include read, and may include answer and stop')
  if (!(Number.isInteger(expiresInMs) && expiresInMs > 0 && expiresInMs <= EXPIRES_MS_MAX))
    throw new HoldfastError(
      'invalid_request',
      'the lifetime of a share link must be between 1 millisecond and 365 days',
    )
  return { can: shareActions.filter((action) => can.includes(action)), expiresInMs }
}

function shareIn({ id, body, createdAt }: Document): Share {
  const { run, can, expiresAt } = body as { run: string; can: ShareAction[]; expiresAt: number }
  return { id, run, can, createdAt, expiresAt: new Date(expiresAt).toISOString() }
}

function signedText(run: string, id: string): string {
  return `share\n${run}\n${id}`
}
