/** RPC between two threads: each side serves methods and calls those of the other. Messages are ordered. */
import { RunFailure } from '../../core/execution/run-failure.ts'
import { ErrorTransport, type PackedError } from './errors.ts'

/** The methods that a side serves. Arguments and results must be cloneable. */
export type Methods<Served> = { readonly [Name in keyof Served]: Method }
type Method = (...args: never[]) => unknown

type Message =
  | { readonly call: number; readonly method: string; readonly args: readonly unknown[] }
  | { readonly notice: string; readonly args: readonly unknown[] }
  | { readonly reply: number; readonly value?: unknown; readonly error?: PackedError }

/** One end of a message channel: a worker, or a worker's parent port. */
export interface Port {
  postMessage(message: unknown): void
  on(event: 'message', listener: (message: Message) => void): unknown
}

/** Maximum pending calls. An agent that never awaits its work must not fill the host's memory. */
const PENDING_MAX = 4000

export interface RpcOptions {
  /** Errors that this side throws come back as the same objects. */
  readonly keepsErrors: boolean
}

export class Rpc<Remote extends Methods<Remote>> {
  readonly errors = new ErrorTransport()
  readonly #port: Port
  readonly #options: RpcOptions
  readonly #pending = new Map<
    number,
    { readonly resolve: (value: unknown) => void; readonly reject: (error: unknown) => void }
  >()
  #count = 0
  #closed: Error | undefined

  constructor(port: Port, served: object, options: RpcOptions) {
    this.#port = port
    this.#options = options
    port.on('message', (message: Message) => this.#receive(message, served as Record<string, Method>))
  }

  call<Name extends keyof Remote & string>(
    method: Name,
    ...args: Parameters<Remote[Name]>
  ): Promise<Awaited<ReturnType<Remote[Name]>>> {
    if (this.#closed !== undefined) return Promise.reject(this.#closed)
    if (this.#pending.size >= PENDING_MAX) return Promise.reject(tooMany())
    const call = ++this.#count
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    this.#pending.set(call, { resolve, reject })
    this.#post({ call, method, args })
    return promise as Promise<Awaited<ReturnType<Remote[Name]>>>
  }

  /** A call without a reply. */
  notify<Name extends keyof Remote & string>(method: Name, ...args: Parameters<Remote[Name]>): void {
    if (this.#closed === undefined) this.#post({ notice: method, args })
  }

  /** Sends nothing more and rejects pending calls: the other side has ended. */
  close(reason: Error): void {
    if (this.#closed !== undefined) return
    this.#closed = reason
    for (const { reject } of this.#pending.values()) reject(reason)
    this.#pending.clear()
  }

  #receive(message: Message, served: Record<string, Method>): void {
    if ('reply' in message) return this.#settle(message.reply, message.value, message.error)
    const args = message.args as never[]
    if ('notice' in message) return void served[message.notice]!(...args)
    void this.#serve(message.call, served[message.method]!, args)
  }

  async #serve(reply: number, method: Method, args: never[]): Promise<void> {
    let message: Message
    try {
      message = { reply, value: await method(...args) }
    } catch (thrown) {
      message = { reply, error: this.errors.pack(thrown, this.#options.keepsErrors) }
    }
    if (this.#closed === undefined) this.#post(message)
  }

  #settle(call: number, value: unknown, error: PackedError | undefined): void {
    const waiting = this.#pending.get(call)
    this.#pending.delete(call)
    if (error === undefined) waiting?.resolve(value)
    else waiting?.reject(this.errors.unpack(error))
  }

  #post(message: Message): void {
    this.#port.postMessage(message)
  }
}

function tooMany(): RunFailure {
  return new RunFailure(
    'protocol_violation',
    `more than ${PENDING_MAX} calls are pending at once: await steps, tools and questions`,
  )
}
