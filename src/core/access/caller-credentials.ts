/** The credentials that runs were started with, for requests to upstreams: in memory, and encrypted in the store if there is a key. */
import { CallerCredential } from '../model/caller-credential.ts'
import type { Documents } from '../model/document.ts'
import type { SecretBox } from '../ports/secret-box.ts'
import type { UnverifiedCallers } from './unverified-callers.ts'

type RunKey = { readonly id: string; readonly owner: string }

export const CREDENTIALS = 'caller-credential'
/** Maximum credentials in memory. Beyond it, the oldest are read from the store, or lost if there is no key. */
const KEPT_MAX = 20_000

export class CallerCredentials {
  readonly #documents: Documents
  readonly #box: SecretBox | undefined
  readonly #kept = new Map<string, CallerCredential>()
  readonly unverified: UnverifiedCallers

  constructor(documents: Documents, box: SecretBox | undefined, unverified: UnverifiedCallers) {
    this.#documents = documents
    this.#box = box
    this.unverified = unverified
  }

  /** With a key, resolves when the credential is durable. Replaces an older credential of the run. */
  async keep({ id, owner }: RunKey, credential: CallerCredential): Promise<void> {
    this.#kept.delete(id)
    this.#kept.set(id, credential)
    const [oldest] = this.#kept.keys()
    if (this.#kept.size > KEPT_MAX) this.#kept.delete(oldest!)
    if (this.#box === undefined) return
    const sealed = this.#box.seal(credential.reveal(), contextOf(id))
    await this.#documents.put({ owner, collection: CREDENTIALS, id, body: { sealed } })
  }

  /** Undefined if the credential was not kept or can no longer be decrypted. */
  async of({ id, owner }: RunKey): Promise<CallerCredential | undefined> {
    const known = this.#kept.get(id)
    if (known !== undefined || this.#box === undefined) return known
    const { sealed } = ((await this.#documents.get(owner, CREDENTIALS, id))?.body ?? {}) as { sealed?: unknown }
    if (typeof sealed !== 'string') return undefined
    try {
      return new CallerCredential(this.#box.open(sealed, contextOf(id)))
    } catch {
      return undefined
    }
  }

  /** Deletes the credential of a run that has ended or was not created. */
  async drop({ id, owner }: RunKey): Promise<void> {
    this.#kept.delete(id)
    this.unverified.end({ id, owner })
    if (this.#box !== undefined) await this.#documents.remove(owner, CREDENTIALS, id)
  }
}

function contextOf(run: string): string {
  return `caller credential ${run}`
}
