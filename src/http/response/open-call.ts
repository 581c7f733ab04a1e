/**
 * A request that a handler keeps open without a subscription. It counts as one of the caller's streams and ends with its credential
 * (SEC-2).
 */
import type { HoldfastError } from '../../core/model/errors.ts'
import type { Service } from '../../core/service.ts'
import type { Call } from '../routing/route.ts'

export class OpenCall {
  /** Aborts when the client disconnects or its credential ends. */
  readonly signal: AbortSignal
  readonly #release: () => void
  readonly #unwatch: () => void
  #ended: HoldfastError | undefined

  /** Throws `rate_limited` if the caller has too many streams open. */
  constructor({ principal, signal }: Pick<Call, 'principal' | 'signal'>, service: Service) {
    const ended = new AbortController()
    this.signal = AbortSignal.any([signal, ended.signal])
    this.#release = service.openStream(principal)
    this.#unwatch = service.onCredentialEnd(principal, (error) => {
      this.#ended = error
      ended.abort(error)
    })
  }

  /** Throws `unauthenticated` if the credential has ended. */
  assertCurrent(): void {
    if (this.#ended !== undefined) throw this.#ended
  }

  release(): void {
    this.#release()
    this.#unwatch()
  }
}
