/**
 * Shares connections between tabs of one browser: over HTTP/1.1 a browser allows six per host, and a page whose six are taken
 * by streams can send no other request.
 */
import type { LoggedEvent } from '../../core/model/event.ts'
import { type Follow, follow, type FollowOptions, type Position } from '../follow.ts'
import type { Transport } from '../transport.ts'
import { ConnectionSlots } from './connection-slots.ts'
import { SharedRun } from './shared-run.ts'
import { canLock, tabLocks } from './tab-locks.ts'

/** Follows runs together with other tabs; undefined if that is impossible, and every stream has its own connection. */
export function openSharing(
  transport: Transport,
  share: boolean | { readonly name: string } = true,
): Follow | undefined {
  const locks = tabLocks()
  if (share === false || locks === undefined || crypto.subtle === undefined) return undefined
  if (share === true && (typeof transport.key === 'function' || transport.hasHeaders)) return undefined
  if (share !== true && typeof share?.name !== 'string')
    throw new TypeError('shareConnections must be true, false or { name }, where the name stands for one principal')
  const principal = share === true ? ((transport.key as string | undefined) ?? '') : share.name
  const sharing = new Sharing(transport, locks, principal)
  return (position, options) => sharing.follow(position, options)
}

class Sharing {
  readonly #transport: Transport
  readonly #locks: LockManager
  readonly #name: Promise<string>
  #canLock: Promise<boolean> | undefined
  readonly #runs = new Map<string, SharedRun>()

  constructor(transport: Transport, locks: LockManager, principal: string) {
    this.#transport = transport
    this.#locks = locks
    this.#name = nameOf(transport.url, principal)
  }

  async *follow(position: Position, options: FollowOptions): AsyncGenerator<LoggedEvent> {
    const name = await this.#name
    if (!(await (this.#canLock ??= canLock(this.#locks, name))))
      return yield* follow(this.#transport, position, options)
    const { run } = position
    let shared = this.#runs.get(run)
    if (shared === undefined) {
      const forget = (): void => void this.#runs.delete(run)
      shared = new SharedRun(this.#transport, new ConnectionSlots(this.#locks, name, run), run, forget)
      this.#runs.set(run, shared)
    }
    yield* shared.read(position, options)
  }
}

/** Principals that may see different runs have different names; a name reveals nothing about the key. */
async function nameOf(url: string, principal: string): Promise<string> {
  const text = new TextEncoder().encode(JSON.stringify([url, principal]))
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', text))
  return `holdfast:${Array.from(digest.subarray(0, 16), (byte) => byte.toString(16).padStart(2, '0')).join('')}`
}
