/** Handles requests before the store is open: knows which paths Holdfast owns, and reports that it cannot serve them yet. */
import { bindPath } from '../http/routing/route.ts'
import type { IncomingMessage } from 'node:http'
import { isHostsRoot, locate, type Target } from '../http/routing/base-path.ts'
import { toClientError } from '../http/response/client-error.ts'
import { type Cors, respondCors } from '../http/guards/cors.ts'
import { discardRest } from '../http/request/discard.ts'
import type { HttpRequest, HttpResponse } from '../http/exchange.ts'
import { respondError, setRetryAfter } from '../http/response/respond.ts'
import { TrustedProxies } from '../http/guards/trusted-proxies.ts'
import { isOwnedPath, type ProtocolPaths, upgradePaths } from '../server/protocols/protocol-paths.ts'
import { loadEngine } from './load-engine.ts'
import type { CheckedOptions } from './options.ts'

export class UnopenedInstance {
  readonly #basePath: string
  readonly #paths: ProtocolPaths
  readonly #proxies: TrustedProxies
  readonly #cors: Cors

  constructor({ basePath, paths, given }: CheckedOptions) {
    this.#basePath = basePath
    this.#paths = paths
    this.#proxies = new TrustedProxies(given.trustProxy ?? [])
    this.#cors = { origins: given.corsOrigins ?? [], loopback: given.corsLoopback ?? false }
  }

  owns(request: HttpRequest): boolean {
    const target = this.#targetOf(request)
    return target !== undefined && !isHostsRoot(target) && isOwnedPath(target.path, this.#paths)
  }

  claimsUpgrade(request: IncomingMessage): boolean {
    const path = this.#pathOf(request)
    return path !== undefined && upgradePaths(this.#paths).some((upgrade) => bindPath(upgrade, path) !== undefined)
  }

  /** Renders the error in the format of the protocol that owns the path. Never throws. */
  async refuse(request: HttpRequest, response: HttpResponse, cause: unknown): Promise<void> {
    if (response.destroyed) return
    const errorId = crypto.randomUUID()
    const error = toClientError(cause, errorId)
    try {
      if (respondCors(request, response, this.#cors)) return
      const { errorFormOf } = await loadEngine()
      const render = await errorFormOf(this.#pathOf(request) ?? '/', this.#paths)()
      setRetryAfter(response, error)
      await discardRest(request, response)
      respondError(response, render(error, errorId))
    } catch {
      response.destroy()
    }
  }

  #pathOf(request: HttpRequest | IncomingMessage): string | undefined {
    return this.#targetOf(request)?.path
  }

  #targetOf(request: HttpRequest | IncomingMessage): Target | undefined {
    return locate(request, this.#proxies.peerOf(request), this.#basePath)
  }
}
