/** The server's protocols. Each owns some paths and is loaded on the first request for one of them. */
import { covers, type OwnedPath, toOwnedPath } from './path-ownership.ts'
import { bindPath, type Match, type Protocol, RouteTable } from './route.ts'
import type { Upgrade } from '../socket/upgrade.ts'

export interface Mount {
  /** The paths it owns, as `toOwnedPath` parses them: `/v1` and everything below it, `/` alone. */
  readonly paths: readonly string[]
  /** WebSocket paths. */
  readonly upgrades?: readonly string[]
  load(): Promise<Protocol>
}

export interface FoundUpgrade {
  readonly upgrade: Upgrade
  readonly params: Readonly<Record<string, string>>
}

interface LoadedProtocol {
  readonly protocol: Protocol
  readonly routes: RouteTable
}

export class Mounts {
  /** Handles paths that no protocol owns. */
  readonly first: Protocol
  readonly #first: LoadedProtocol
  readonly #firstSegments: ReadonlySet<string>
  readonly #mounts: readonly Mount[]
  readonly #fallback: LoadedProtocol | undefined
  /** By the first segment, which is never a parameter. */
  readonly #owned = new Map<string, { readonly mount: Mount; readonly owned: OwnedPath }[]>()
  readonly #loading = new Map<Mount, Promise<LoadedProtocol>>()
  readonly #loaded = new Set<LoadedProtocol>()

  /** `fallback`: serves paths that no protocol owns. */
  constructor(first: Protocol, mounts: readonly Mount[], fallback?: Protocol) {
    this.first = first
    this.#first = asLoaded(first)
    this.#loaded.add(this.#first)
    this.#firstSegments = new Set(first.routes.map(({ path }) => firstSegment(path)))
    this.#mounts = mounts
    this.#fallback = fallback && asLoaded(fallback)
    for (const mount of mounts)
      for (const owned of mount.paths.map(toOwnedPath)) {
        const segment = owned.segments[0] ?? ''
        this.#owned.set(segment, [...(this.#owned.get(segment) ?? []), { mount, owned }])
      }
  }

  /** Whether the path, or a path below it, belongs to a protocol. Loads nothing. */
  owns(path: string): boolean {
    return this.#firstSegments.has(firstSegment(path)) || this.#owners(path).length > 0
  }

  async match(method: string, path: string): Promise<Match> {
    const match = await this.#matchOwn(method, path)
    if (this.#fallback === undefined || !(match.kind === 'none' || (match.kind === 'found' && match.route.yields)))
      return match
    const other = this.#fallback.routes.match(method, path)
    return other.kind === 'found' ? other : match
  }

  async #matchOwn(method: string, path: string): Promise<Match> {
    let best = this.#first.routes.match(method, path)
    for (const mount of this.#owners(path)) {
      if (best.kind === 'found') return best
      const { routes, protocol } = await this.#load(mount)
      const match = routes.match(method, path)
      if (match.kind === 'none') best = best.kind === 'none' ? { protocol, ...best } : best
      else if (match.kind === 'found' || best.kind === 'none') best = match
    }
    return best
  }

  /** Whether the path is a WebSocket path. Loads nothing. */
  hasUpgrade(path: string): boolean {
    return this.#owners(path).some(({ upgrades = [] }) => upgrades.some((upgrade) => bindPath(upgrade, path)))
  }

  async upgrade(path: string): Promise<FoundUpgrade | undefined> {
    for (const mount of this.#owners(path)) {
      const { protocol } = await this.#load(mount)
      for (const upgrade of protocol.upgrades ?? []) {
        const params = bindPath(upgrade.path, path)
        if (params !== undefined) return { upgrade, params }
      }
    }
    return undefined
  }

  /** Loads the remaining protocols, so that no later request waits for it. */
  async loadAll(): Promise<void> {
    for (const mount of this.#mounts) await this.#load(mount)
  }

  /** Closes connections of protocols that are not streams. */
  close(reason: string): void {
    for (const { protocol } of this.#loaded) protocol.close?.(reason)
  }

  #owners(path: string): Mount[] {
    const candidates = this.#owned.get(firstSegment(path))
    if (candidates === undefined) return []
    const segments = path.split('/').slice(1)
    const owners = candidates.filter(({ owned }) => covers(owned, segments))
    return [...new Set(owners.map(({ mount }) => mount))]
  }

  #load(mount: Mount): Promise<LoadedProtocol> {
    let loading = this.#loading.get(mount)
    if (loading === undefined) {
      loading = this.#loadNow(mount)
      this.#loading.set(mount, loading)
      loading.catch(() => this.#loading.delete(mount)) // so that the next request retries
    }
    return loading
  }

  async #loadNow(mount: Mount): Promise<LoadedProtocol> {
    const done = asLoaded(await mount.load())
    this.#loaded.add(done)
    return done
  }
}

function firstSegment(path: string): string {
  return path.split('/', 2)[1] ?? ''
}

function asLoaded(protocol: Protocol): LoadedProtocol {
  return { protocol, routes: new RouteTable([protocol]) }
}
