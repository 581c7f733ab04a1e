/** Fault-injecting `fetch` of one viewer: its connections can be cut, blocked for a while, or left unread. */

export interface ConnectionState {
  /** Number of event streams opened. */
  readonly streams: number
  readonly cuts: number
  /** Until when it is offline, in milliseconds since 1970; 0: online. */
  readonly offlineUntil: number
  /** Until when nothing is read. */
  readonly stalledUntil: number
  /** The last attempt failed. */
  readonly failing: boolean
}

export class FaultyConnection {
  readonly #onRefused: () => void
  readonly #listeners = new Set<() => void>()
  #open = new AbortController()
  #state: ConnectionState = { streams: 0, cuts: 0, offlineUntil: 0, stalledUntil: 0, failing: false }

  constructor(onRefused: () => void = () => {}) {
    this.#onRefused = onRefused
  }

  readonly state = (): ConnectionState => this.#state

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  readonly fetch: typeof globalThis.fetch = async (input, init) => {
    if (this.#state.offlineUntil > 0) {
      this.#set({ failing: true })
      await this.#back(init?.signal)
      throw new TypeError('no response')
    }
    const cut = this.#open.signal
    const given = init?.signal
    const signal = given === undefined || given === null ? cut : AbortSignal.any([given, cut])
    let response: Response
    try {
      response = await fetch(input, { ...init, signal })
    } catch (cause) {
      if (given?.aborted !== true) this.#set({ failing: true })
      throw cause
    }
    if (response.status === 401) this.#onRefused()
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    this.#set({ failing: false, ...(isStream && { streams: this.#state.streams + 1 }) })
    if (!isStream || response.body === null) return response
    return new Response(this.#unread(response.body, cut), response)
  }

  /** Closes all connections, like a restarting proxy. */
  cut(): void {
    this.#open.abort(new TypeError('the connection was cut'))
    this.#open = new AbortController()
    this.#set({ cuts: this.#state.cuts + 1, stalledUntil: 0 })
  }

  /** Blocks all traffic for a while. */
  goOffline(ms: number): void {
    this.#set({ offlineUntil: Date.now() + ms })
    this.cut()
    setTimeout(() => this.#set({ offlineUntil: 0 }), ms)
  }

  /** Keeps connections open without reading from them for a while. */
  stall(ms: number): void {
    this.#set({ stalledUntil: Date.now() + ms })
    setTimeout(() => this.#set({ stalledUntil: 0 }), ms)
  }

  /** Packets are lost: requests hang until it is over. */
  async #back(signal: AbortSignal | null | undefined): Promise<void> {
    while (this.#state.offlineUntil > Date.now() && signal?.aborted !== true) await pause(LOOK_MS)
  }

  /** Forwards a body, but reads nothing while the connection is stalled. */
  #unread(body: ReadableStream<Uint8Array>, cut: AbortSignal): ReadableStream<Uint8Array> {
    const reader = body.getReader()
    return new ReadableStream<Uint8Array>({
      pull: async (controller) => {
        for (let left = this.#stalledMs(); left > 0 && !cut.aborted; left = this.#stalledMs())
          await pause(Math.min(left, LOOK_MS))
        const { done, value } = await reader.read()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      cancel: (reason) => reader.cancel(reason),
    })
  }

  #stalledMs(): number {
    return this.#state.stalledUntil - Date.now()
  }

  #set(changes: Partial<ConnectionState>): void {
    this.#state = { ...this.#state, ...changes }
    for (const listener of this.#listeners) listener()
  }
}

const LOOK_MS = 100

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
