/** A subscriber: follows a run over one wire until its end, with a cursor, over connections that break and stall. */
import { isHoldfastError } from '../../src/core/model/errors.ts'
import type { LoggedEvent } from '../../src/core/model/event.ts'
import type { Projection } from '../../src/core/ports/projection.ts'
import { events, lastOf, type Slice } from '../../src/core/model/slice.ts'
import { isFinished, type Run } from '../../src/core/model/run.ts'
import type { Sink, Subscription } from '../../src/core/delivery/subscription.ts'
import type { Client } from './client.ts'
import type { Wire } from './plan.ts'
import type { SimNode, SimProcess } from './node.ts'
import { isSuccess, projectionOf, textOf } from './wires.ts'
import type { World } from './world.ts'

/** A connection is given up after this silence. */
const SILENCE_MS = 20_000
const decoder = new TextDecoder()

export class Subscriber {
  readonly #world: World
  readonly #client: Client
  readonly #run: string
  readonly #wire: Wire
  readonly #projection: Projection<unknown, unknown> | undefined
  /** Of the native wire: the last index that it has. */
  #cursor = -1
  /** Of the others: the frames that it has. */
  readonly #frames: string[] = []
  #connections = 0
  isDone = false

  constructor(world: World, client: Client, run: string, wire: Wire) {
    this.#world = world
    this.#client = client
    this.#run = run
    this.#wire = wire
    this.#projection = projectionOf(wire)
  }

  state(): string {
    return `${this.#wire} subscriber of ${this.#run} has event ${this.#cursor}, ${this.#frames.length} frames`
  }

  async follow(): Promise<void> {
    while (!this.isDone) {
      try {
        const after = this.#projection === undefined ? this.#cursor : -1
        await this.#connect(after)
      } catch (cause) {
        this.#expected(cause)
      }
      if (!this.isDone) await this.#client.rest()
    }
  }

  /** Resolves when the connection has ended, for any reason. */
  async #connect(after: number): Promise<void> {
    const connection = ++this.#connections
    const { promise: ended, resolve: end } = Promise.withResolvers<void>()
    const opened = await this.#client.call(async (service, node, process) => {
      const { run, next } = await service.startReading(this.#client.principal, this.#run)
      // As the routes do: a client that has everything gets no stream.
      if (isFinished(run.status) && after === next - 1) return undefined
      const sink = new Connection(this.#world, node, process, this.#reader(run, connection), end)
      const subscription = await service.subscribe(this.#client.principal, this.#run, after, sink)
      sink.opened(subscription)
      return sink
    })
    if (opened === undefined) {
      this.isDone = true
      return
    }
    opened.connected()
    await ended
    opened.close()
    this.#connections++ // what is still under way is not read any more
  }

  /** Reads a connection while it is the current one. */
  #reader(run: Run, connection: number): (slice: Slice | 'finished') => void {
    let state = this.#projection?.initial(run)
    let count = 0
    return (slice) => {
      if (connection !== this.#connections || this.isDone) return
      if (slice === 'finished') {
        this.isDone = true
        return
      }
      if (this.#projection === undefined) return this.#read(slice)
      for (const event of events(slice)) {
        const projected = this.#projection.apply(state, event)
        state = projected.state
        // Frames that the client already has are folded and not sent.
        for (const frame of projected.frames) if (count++ >= this.#frames.length) this.#frames.push(textOf(frame))
      }
    }
  }

  #read(slice: Slice): void {
    const { model } = this.#world
    if (slice.first !== this.#cursor + 1) {
      model.violation('SUB-2', `${this.state()} and was given ${slice.first} to ${lastOf(slice)}`)
      return
    }
    try {
      model.shown(this.#run, slice.first, decoder.decode(slice.bytes), slice.count, slice.closed)
    } catch {
      return // the model has noted it
    }
    this.#cursor = lastOf(slice)
  }

  /** The received pieces equal a fold of the whole log, and report its outcome. */
  checkEnd(): void {
    const { model } = this.#world
    const { records, status } = model.of(this.#run)
    if (this.#projection === undefined) {
      if (this.#cursor !== records.length - 1)
        throw model.violation('SUB-2', `${this.state()} at its end, and the log has ${records.length}`)
      return
    }
    let state = this.#projection.initial(this.#storedRun())
    const whole: string[] = []
    for (const record of records) {
      const event = JSON.parse(record.split('\n')[2]!.slice(6)) as LoggedEvent
      const projected = this.#projection.apply(state, event)
      state = projected.state
      for (const frame of projected.frames) whole.push(textOf(frame))
    }
    const at = whole.findIndex((frame, index) => frame !== this.#frames[index])
    if (at >= 0 || whole.length !== this.#frames.length)
      throw model.violation(
        'LOG-5',
        `${this.state()}, and the log gives ${whole.length}; frame ${at}: ${this.#frames[at]} instead of ${whole[at]}`,
      )
    const reported = isSuccess(this.#wire, this.#frames)
    if (reported !== undefined && reported !== (status === 'completed'))
      throw model.violation(
        'RUN-3',
        `run ${this.#run} is ${status}, and ${this.#wire} ends with ${this.#frames.slice(-2).join(' ')}`,
      )
  }

  #storedRun(): Run {
    const { data } = this.#world.model.of(this.#run).events[0]!
    const time = (this.#world.model.of(this.#run).events[0] as unknown as { readonly time: string }).time
    const { component, session, metadata, protocol } = data as unknown as Run
    return {
      id: this.#run,
      component,
      session,
      owner: this.#client.principal.id,
      status: 'queued',
      createdAt: time,
      updatedAt: time,
      attempt: 0,
      ...(metadata && { metadata }),
      ...(protocol && { protocol }),
    }
  }

  #expected(cause: unknown): void {
    if (isHoldfastError(cause) && ['unavailable', 'rate_limited'].includes(cause.code)) return
    if (
      !isHoldfastError(cause) &&
      cause instanceof Error &&
      /^(no answer|connection refused|the connection)/.test(cause.message)
    )
      return
    this.#world.model.violation('SUB-2', `${this.state()} met ${String((cause as Error)?.stack ?? cause)}`)
  }
}

/** The server's side of a connection, and the network behind it. */
class Connection implements Sink {
  readonly #world: World
  readonly #node: SimNode
  readonly #process: SimProcess
  readonly #read: (slice: Slice | 'finished') => void
  readonly #end: () => void
  #subscription: Subscription | undefined
  #isFull = false
  /** The connection delivers nothing more, unnoticed by the server. */
  #isHalfOpen = false
  #isClosed = false
  #arrivesAt = 0
  #heardAt = 0

  constructor(
    world: World,
    node: SimNode,
    process: SimProcess,
    read: (slice: Slice | 'finished') => void,
    end: () => void,
  ) {
    this.#world = world
    this.#node = node
    this.#process = process
    this.#read = read
    this.#end = end
  }

  opened(subscription: Subscription): void {
    this.#subscription = subscription
    if (this.#isClosed) subscription.close()
  }

  /** The client checks at intervals whether the server is still there. */
  connected(): void {
    const { scheduler } = this.#world
    this.#heardAt = scheduler.now
    const look = (): void => {
      if (this.#isClosed) return
      // A live server shows that it is there; one that is stopped or gone does not.
      const isAlive = this.#node.process === this.#process && !this.#node.isPaused && !this.#isHalfOpen
      if (isAlive) this.#heardAt = scheduler.now
      if (this.#node.process !== this.#process || scheduler.now - this.#heardAt > SILENCE_MS) this.#end()
      else scheduler.after(3000, 'look', look)
    }
    scheduler.after(3000, 'look', look)
  }

  write(slice: Slice): boolean {
    const { model, random } = this.#world
    if (this.#isFull) model.violation('SUB-1', 'a sink that has no room was written to')
    this.#send(slice)
    this.#isHalfOpen ||= this.#world.chance('halfOpen')
    if (this.#world.chance('disconnect')) {
      this.#world.scheduler.after(this.#world.latency(), 'disconnect', () => this.#end())
      return true
    }
    if (!this.#world.chance('stall')) return true
    this.#isFull = true
    this.#world.startTimer(
      this.#process,
      () => {
        this.#isFull = false
        this.#subscription?.resume()
      },
      random.between(10, 10_000),
    )
    return false
  }

  finished(): void {
    this.#send('finished')
  }

  failed(): void {
    this.#after(() => this.#end())
  }

  /** The client has disconnected; the server notices later. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#world.startTimer(this.#process, () => this.#subscription?.close(), this.#world.latency())
  }

  #send(what: Slice | 'finished'): void {
    this.#after(() => {
      this.#read(what)
      if (what === 'finished') this.#end()
    })
  }

  /** In order, as on a socket. */
  #after(act: () => void): void {
    if (this.#isHalfOpen) return
    const { scheduler } = this.#world
    this.#arrivesAt = Math.max(this.#arrivesAt + 0.001, scheduler.now + this.#world.latency())
    scheduler.after(this.#arrivesAt - scheduler.now, 'frames', () => {
      this.#world.current = undefined
      act()
    })
  }
}
