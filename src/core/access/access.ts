/** Access control for every command of the service: whether the credential is valid, who owns the run, and which actions are permitted. */
import type { CredentialWatch } from './credential-watch.ts'
import { HoldfastError, runNotFound } from '../model/errors.ts'
import type { NodeDeps } from '../node-deps.ts'
import { ownerKey, type Principal } from '../model/principal.ts'
import {
  type Action,
  isLimitedToRuns,
  notPermitted,
  permits,
  permitsSome,
  requirePermission,
  type Target,
} from './scopes.ts'
import type { StoredRunPage, StoredRun } from '../ports/store.ts'
import type { Subscription } from '../delivery/subscription.ts'

/** A run id, or a run that the service returned earlier in the same request, which saves a read of the store. */
export type KnownRun = string | StoredRun

export class Access {
  readonly #deps: Pick<NodeDeps, 'store' | 'registry'>
  readonly #credentials: CredentialWatch | undefined

  constructor(deps: Pick<NodeDeps, 'store' | 'registry'>, credentials: CredentialWatch | undefined) {
    this.#deps = deps
    this.#credentials = credentials
  }

  /** Returns a run of the caller, if the caller has the permission. Throws `not_found` for runs of others (SEC-1). */
  async own(principal: Principal, id: string, action: Action): Promise<StoredRun> {
    await this.#credentials?.check(principal)
    return this.#permit(principal, id, await this.#deps.store.get(id), action)
  }

  /** Like `own`, for a run that the service has just returned: does not read the store again. */
  async ownKnown(principal: Principal, run: KnownRun, action: Action): Promise<StoredRun> {
    if (typeof run === 'string') return this.own(principal, run, action)
    await this.#credentials?.check(principal) // the credential may have ended while the body arrived
    return this.#permit(principal, run.run.id, run, action)
  }

  async requireStart(principal: Principal, component: string): Promise<void> {
    await this.#credentials?.check(principal)
    requirePermission(principal, 'start', this.#targetOf({ component }))
  }

  /** Requires a permission for everything that the caller owns. */
  async require(principal: Principal, action: Action): Promise<void> {
    await this.#credentials?.check(principal)
    requirePermission(principal, action)
  }

  /** Requires a permission for at least some of the caller's resources. */
  requireSome(principal: Principal, action: Action): void {
    if (!permitsSome(principal, action)) throw notPermitted(action)
  }

  /** Filters a page to the runs that the caller may read. It may have fewer runs than requested; its cursor stays valid. */
  async list(principal: Principal, read: () => Promise<StoredRunPage>): Promise<StoredRunPage> {
    await this.#credentials?.check(principal)
    this.requireSome(principal, 'read')
    const page = await read()
    if (permits(principal, 'read')) return page
    return { ...page, runs: page.runs.filter(({ run }) => permits(principal, 'read', this.#targetOf(run))) }
  }

  /** Calls `end` when the caller's credential ends. */
  onCredentialEnd(principal: Principal, end: (error: HoldfastError) => void): () => void {
    return this.#credentials?.watch(principal, end) ?? (() => {})
  }

  /** A subscription that fails when the credential that opened it ends. */
  whileCurrent(principal: Principal, open: (onClose: () => void) => Subscription): Subscription {
    const watch: { release?: () => void } = {}
    const subscription = open(() => watch.release?.())
    watch.release = this.onCredentialEnd(principal, (error) => subscription.fail(error))
    if (subscription.isClosed) watch.release() // the subscription failed while it was opened
    return subscription
  }

  close(): void {
    this.#credentials?.close()
  }

  #permit(principal: Principal, id: string, stored: StoredRun | undefined, action: Action): StoredRun {
    if (stored === undefined || !this.#isSeen(principal, stored)) throw runNotFound(id)
    requirePermission(principal, action, this.#targetOf(stored.run))
    return stored
  }

  #isSeen(principal: Principal, { run }: StoredRun): boolean {
    if (run.owner !== ownerKey(principal)) return false
    return !isLimitedToRuns(principal) || permits(principal, 'read', this.#targetOf(run))
  }

  #targetOf({ id, component }: { readonly id?: string; readonly component: string }): Target {
    return { ...(id !== undefined && { run: id }), component, kind: this.#deps.registry.find(component)?.kind }
  }
}
