/** Admission control by metadata, before a call's message is read: authentication, rate limits, and a cap on concurrent reads. */
import type * as Grpc from '@grpc/grpc-js'
import { assert } from '../../../core/model/errors.ts'
import { type Authenticator, ownerKey, type Principal } from '../../../core/model/principal.ts'
import { paceRequests } from '../../../core/runtime/share-event-loop.ts'
import { bearerIn } from '../../../http/request/bearer.ts'
import type { RequestRate } from '../../../http/guards/request-rate.ts'
import type { TrustedProxies } from '../../../http/guards/trusted-proxies.ts'

/** Concurrent reads per principal, since each may need memory for a message of maximum size. */
const READING_MAX = 16

export interface AdmissionOptions {
  readonly grpc: typeof Grpc
  readonly authenticator: Authenticator
  readonly proxies: TrustedProxies
  readonly rate: RequestRate
  /** Renders an error in the format of the called service. */
  readonly statusOf: (path: string, cause: unknown) => Grpc.StatusObject
  /** Time limit for receiving a call's message. */
  readonly grpcMessageTimeoutMs: number
}

export class GrpcAdmission {
  readonly #options: AdmissionOptions
  readonly #principals = new WeakMap<Grpc.Metadata, Principal>()
  readonly #reading = new Map<string, Slots>()

  constructor(options: AdmissionOptions) {
    this.#options = options
  }

  /** The principal of an admitted call. */
  principalOf(metadata: Grpc.Metadata): Principal {
    const principal = this.#principals.get(metadata)
    assert(principal !== undefined, 'a call was handled without being admitted')
    return principal
  }

  readonly interceptor: Grpc.ServerInterceptor = ({ path }, call) => {
    const reading = new Reading()
    return new this.#options.grpc.ServerInterceptingCall(call, {
      start: (start) =>
        start({
          onReceiveMetadata: (metadata, next) => {
            // gRPC reads nothing from the stream before `next`.
            void settle(
              this.#admit(metadata, call, reading),
              () => next(metadata),
              (cause) => call.sendStatus(this.#options.statusOf(path, cause)),
            )
          },
          onReceiveMessage: (message, next) => {
            reading.end()
            next(message)
          },
          onCancel: () => reading.end(),
        }),
    })
  }

  /** Resolves to false if the call is cancelled first. */
  async #admit(
    metadata: Grpc.Metadata,
    call: Parameters<Grpc.ServerInterceptor>[1],
    reading: Reading,
  ): Promise<boolean> {
    const { authenticator, proxies, rate, grpc, grpcMessageTimeoutMs } = this.#options
    await paceRequests()
    if (reading.hasEnded) return false
    const bearer = bearerIn(metadata.get('authorization').map(String).join(','))
    const from = proxies.addressOf(
      call.getPeer().replace(/:\d+$/, ''),
      metadata.get('x-forwarded-for').map(String).join(','),
    )
    rate.admitAddress(from, bearer)
    const principal = await rate.authenticate(from, bearer, () =>
      authenticator.authenticate({ ...(bearer !== undefined && { bearer }), from }),
    )
    rate.admit(principal)
    if (reading.hasEnded) return false
    this.#principals.set(metadata, principal)
    const slot = this.#slotsOf(principal).take()
    const deadline = setTimeout(() => {
      const details = `the message did not arrive within ${grpcMessageTimeoutMs / 1000} s`
      call.sendStatus({ code: grpc.status.DEADLINE_EXCEEDED, details })
    }, grpcMessageTimeoutMs)
    reading.onEnd(() => {
      clearTimeout(deadline)
      slot.release()
    })
    await slot.taken
    return true
  }

  #slotsOf(principal: Principal): Slots {
    const owner = ownerKey(principal)
    let slots = this.#reading.get(owner)
    if (slots === undefined) this.#reading.set(owner, (slots = new Slots(() => this.#reading.delete(owner))))
    return slots
  }
}

/** Counts a call as reading until its message has arrived or the call is cancelled, which may be before it is admitted. */
class Reading {
  hasEnded = false
  #release = (): void => {}

  onEnd(release: () => void): void {
    this.#release = release
  }

  end(): void {
    this.hasEnded = true
    this.#release()
  }
}

async function settle(
  admission: Promise<boolean>,
  admitted: () => void,
  failed: (cause: unknown) => void,
): Promise<void> {
  let isAdmitted: boolean
  try {
    isAdmitted = await admission
  } catch (cause) {
    return failed(cause)
  }
  if (isAdmitted) admitted()
}

/** A FIFO semaphore. */
class Slots {
  readonly #waiting = new Set<() => void>()
  readonly #onEmpty: () => void
  #taken = 0

  constructor(onEmpty: () => void) {
    this.#onEmpty = onEmpty
  }

  /** `release` is idempotent and may be called before the slot is acquired. */
  take(): { readonly taken: Promise<void>; readonly release: () => void } {
    const { promise, resolve } = Promise.withResolvers<void>()
    let isTaken = false
    let isReleased = false
    const enter = (): void => {
      isTaken = true
      this.#taken++
      resolve()
    }
    const release = (): void => {
      if (isReleased) return
      isReleased = true
      if (isTaken) this.#taken--
      this.#waiting.delete(enter)
      this.#next()
    }
    if (this.#taken < READING_MAX) enter()
    else this.#waiting.add(enter)
    return { taken: promise, release }
  }

  #next(): void {
    const [first] = this.#waiting
    if (first !== undefined && this.#taken < READING_MAX) {
      this.#waiting.delete(first)
      first()
    }
    if (this.#taken === 0) this.#onEmpty()
  }
}
