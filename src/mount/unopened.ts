/** What is known before the store is open: which paths are Holdfast's, and how to say that it cannot serve them yet. */
import type { IncomingMessage } from 'node:http'
import { HoldfastError, isHoldfastError } from '../core/model/errors.ts'
import { locate } from '../http/base-path.ts'
import { type Cors, respondCors } from '../http/cors.ts'
import { discardRest } from '../http/discard.ts'
import type { HttpRequest, HttpResponse } from '../http/exchange.ts'
import { respondError, setRetryAfter } from '../http/respond.ts'
import { TrustedProxies } from '../http/trusted-proxies.ts'
import { claimsPath, errorFormOf, type ProtocolName, protocolNames, upgradePaths } from '../server/protocols.ts'
import type { CheckedOptions } from './options.ts'

export class Unopened {
  readonly #basePath: string
  readonly #protocols: readonly ProtocolName[]
  readonly #proxies: TrustedProxies
  readonly #cors: Cors

  constructor({ basePath, given }: CheckedOptions) {
    this.#basePath = basePath
    this.#protocols = given.protocols ?? protocolNames
    this.#proxies = new TrustedProxies(given.trustProxy ?? [])
    this.#cors = { origins: given.corsOrigins ?? [], loopback: given.corsLoopback ?? false }
  }

  claims(request: HttpRequest): boolean {
    const path = this.#pathOf(request)
    return path !== undefined && claimsPath(path, this.#protocols)
  }

  claimsUpgrade(request: IncomingMessage): boolean {
    const path = this.#pathOf(request)
    return path !== undefined && upgradePaths(this.#protocols).includes(path)
  }

  /** Renders the error in the form of the protocol that owns the path. Never throws. */
  async refuse(request: HttpRequest, response: HttpResponse, cause: unknown): Promise<void> {
    if (response.destroyed) return
    const error = isHoldfastError(cause) ? cause : new HoldfastError('internal', 'internal error', { cause })
    try {
      if (respondCors(request, response, this.#cors)) return
      const render = await errorFormOf(this.#pathOf(request) ?? '/', this.#protocols)()
      setRetryAfter(response, error)
      await discardRest(request, response)
      respondError(response, render(error, crypto.randomUUID()))
    } catch {
      response.destroy()
    }
  }

  #pathOf(request: HttpRequest | IncomingMessage): string | undefined {
    return locate(request, this.#proxies.peerOf(request), this.#basePath)?.path
  }
}
