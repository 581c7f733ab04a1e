/** Links of the native protocol, which may be at another path than the root. */
import type { Call } from '../../../http/routing/route.ts'

/** Paths of protocols below the mount point, without a slash at the end. */
export type LinkedPaths = ReadonlyMap<string, string>

export class NativeLinks {
  readonly #native: string
  readonly #console: string

  constructor(paths: LinkedPaths) {
    this.#native = paths.get('native') ?? ''
    this.#console = paths.get('console') ?? '/console'
  }

  /** Path of the protocol as clients see it. */
  base(call: Call): string {
    return call.base + this.#native
  }

  run(call: Call, run: string): string {
    return `${this.base(call)}/runs/${encodeURIComponent(run)}`
  }

  /**
   * Redirect target for browsers at `/runs/{id}/events`: the page of the run. Relative, so that it also works behind a proxy that
   * strips a prefix without telling. The fragment never leaves the browser.
   */
  page(run: string, token: string): string {
    const up = '../'.repeat(2 + this.#native.split('/').length - 1)
    return `${up}${this.#console.slice(1)}/runs/${encodeURIComponent(run)}#share=${token}`
  }
}
