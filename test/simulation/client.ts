/** A client: retries its start until it is confirmed, answers questions, stops the run, and follows it over several protocols. */
import { isHoldfastError } from '../../src/core/model/errors.ts'
import type { Principal } from '../../src/core/model/principal.ts'
import { isFinished, type Run } from '../../src/core/model/run.ts'
import type { Service } from '../../src/core/service.ts'
import { componentId } from './agents.ts'
import type { RunPlan } from './plan.ts'
import { Subscriber } from './subscriber.ts'
import type { SimNode, SimProcess } from './node.ts'
import type { World } from './world.ts'

/** How long a client waits for a response before it tries another node. */
const TIMEOUT_MS = 8000

export class Client {
  readonly plan: RunPlan
  readonly principal: Principal
  readonly #world: World
  #subscribers: Subscriber[] = []
  #run: string | undefined
  #refused = false
  #finished = false
  #repeated: boolean
  #stopAsked = false
  #stopped: boolean

  constructor(world: World, plan: RunPlan) {
    this.#world = world
    this.plan = plan
    this.principal = { id: `owner${plan.owner}` }
    this.#repeated = plan.repeat === undefined
    this.#stopped = plan.stopAfter === undefined
  }

  /** Its session was busy. A request that it gave up on may still arrive and create a run. */
  get isRefused(): boolean {
    return this.#refused
  }

  get isDone(): boolean {
    if (this.#refused) return true
    return this.#finished && this.#repeated && this.#stopped && this.#subscribers.every(({ isDone }) => isDone)
  }

  /** What it waits for, for reports. */
  unfinished(): string[] {
    if (this.isDone) return []
    const missing = this.#subscribers.filter(({ isDone }) => !isDone).map((subscriber) => subscriber.state())
    return [
      `client of ${this.plan.name} (${this.#run ?? 'not started'}, finished ${this.#finished}, repeated ${this.#repeated}, stopped ${this.#stopped}): ${missing.join(', ')}`,
    ]
  }

  checkEnd(): void {
    for (const subscriber of this.#subscribers) subscriber.checkEnd()
  }

  begin(): void {
    this.#world.scheduler.after(this.plan.startAt, 'client', () => void this.#start())
  }

  /** Calls a service, on some node; rejects when no answer comes. */
  call<Result>(act: (service: Service, node: SimNode, process: SimProcess) => Promise<Result>): Promise<Result> {
    const { scheduler, nodes, random } = this.#world
    const node = random.pick(nodes)
    return new Promise((resolve, reject) => {
      const answer = (deliver: () => void): void => {
        scheduler.after(this.#world.latency(), 'answer', () => {
          this.#world.current = undefined
          deliver()
        })
      }
      const timeout = scheduler.after(TIMEOUT_MS, 'timeout', () => {
        this.#world.current = undefined
        reject(new Error('no answer'))
      })
      scheduler.after(this.#world.latency(), 'request', () => {
        const { process } = node
        if (process === undefined) return answer(() => reject(new Error('connection refused')))
        node.deliver(process, () => {
          const settle = (deliver: () => void): void => {
            if (node.process !== process || this.#world.chance('lostAnswer')) return
            answer(() => {
              timeout.act = undefined
              deliver()
            })
          }
          act(process.service, node, process).then(
            (result) => settle(() => resolve(result)),
            (cause: unknown) => settle(() => reject(cause)),
          )
        })
      })
    })
  }

  /** Waits as a client does before it tries again. */
  rest(least = 200, most = 2000): Promise<void> {
    const { scheduler, random } = this.#world
    return new Promise((resolve) =>
      scheduler.after(random.between(least, most), 'rest', () => {
        this.#world.current = undefined
        resolve()
      }),
    )
  }

  #request(name: string): Parameters<Service['start']>[1] {
    const { recovery, release, session, busy, script } = this.plan
    return {
      component: componentId(recovery, release),
      input: { ops: script, ...(name === 'other' && { other: true }) },
      session: `session${session}`,
      metadata: { plan: this.plan.name },
      protocol: 'simulation',
      idempotencyKey: this.plan.name,
      onBusySession: busy,
    }
  }

  async #start(): Promise<void> {
    for (;;) {
      try {
        const { stored } = await this.call((service) => service.start(this.principal, this.#request('same')))
        this.#run = this.#acknowledged(stored.run)
        break
      } catch (cause) {
        if (isHoldfastError(cause, 'session_busy') && this.plan.busy === 'reject') {
          this.#refused = true
          return
        }
        this.#expected(cause, 'start')
        await this.rest()
      }
    }
    this.#subscribers = this.plan.subscribers.map((wire) => new Subscriber(this.#world, this, this.#run!, wire))
    for (const subscriber of this.#subscribers) void subscriber.follow()
    if (this.plan.repeat !== undefined) void this.#repeat()
    if (this.plan.stopAfter !== undefined) void this.#stop(this.plan.stopAfter)
    void this.#watch()
  }

  #acknowledged({ id }: Run): string {
    const { plan } = this.#world.model.of(id)
    if (plan !== this.plan)
      throw this.#world.model.violation(
        'RUN-4',
        `the start of ${this.plan.name} is said to be ${id}, which is ${plan.name}`,
      )
    return id
  }

  /** RUN-4: once more with the same key. */
  async #repeat(): Promise<void> {
    const { repeat } = this.plan
    await this.rest(0, 10_000)
    while (!this.#repeated) {
      try {
        const { stored } = await this.call((service) => service.start(this.principal, this.#request(repeat!)))
        if (repeat === 'other' || stored.run.id !== this.#run)
          this.#world.model.violation('RUN-4', `the key of ${this.#run} with ${repeat} body gave run ${stored.run.id}`)
        this.#repeated = true
      } catch (cause) {
        if (repeat === 'other' && isHoldfastError(cause, 'idempotency_conflict')) this.#repeated = true
        else this.#expected(cause, `repeated start (${repeat})`)
        await this.rest()
      }
    }
  }

  async #stop(after: number): Promise<void> {
    await this.rest(after, after)
    this.#stopAsked = true
    for (;;) {
      try {
        await this.call((service) => service.stop(this.principal, this.#run!, 'enough'))
        this.#stopped = true
        return
      } catch (cause) {
        this.#expected(cause, 'stop')
        await this.rest()
      }
    }
  }

  /** Handles the run until it has ended. */
  async #watch(): Promise<void> {
    while (!this.#finished) {
      await this.rest(1000, 4000)
      try {
        const { run } = await this.call((service) => service.get(this.principal, this.#run!))
        const model = this.#world.model.of(run.id)
        if (isFinished(run.status)) {
          if (run.status !== model.status)
            this.#world.model.violation('RUN-3', `run ${run.id} is said to be ${run.status} and is ${model.status}`)
          this.#finished = true
        } else if (run.status === 'paused' && !this.#stopAsked) await this.#answer(run)
      } catch (cause) {
        this.#expected(cause, 'get or answer')
      }
    }
  }

  async #answer(run: Run): Promise<void> {
    const { model, random, scheduler } = this.#world
    const questions = run.waiting ?? []
    const answers: Record<string, unknown> = {}
    for (const { id, kind, prompt, details } of questions) {
      const tool = (details as { readonly tool?: string } | undefined)?.tool
      answers[id] =
        kind !== 'uncertain'
          ? `${prompt}!${this.#world.nonce()}`
          : random.chance(0.5)
            ? 'retry'
            : { action: 'result', value: { of: tool, nonce: this.#world.nonce() } }
    }
    for (const [id, answer] of Object.entries(answers)) model.offered(run.id, id, answer)
    scheduler.note(`client of ${run.id} answers ${Object.keys(answers).join(', ')}`)
    const answering = this.call((service) => service.answer(this.principal, run.id, answers))
    if (random.chance(0.3)) void this.#answerAgain(run.id, answers)
    await answering
  }

  /** Like two people who answer, or a double click: the second answer has no effect. */
  async #answerAgain(id: string, answers: Readonly<Record<string, unknown>>): Promise<void> {
    await this.rest(0, this.#world.random.pick([5, 300, 4000]))
    await this.call((service) => service.answer(this.principal, id, answers)).catch((cause: unknown) =>
      this.#expected(cause, 'get or answer'),
    )
  }

  /** Errors that a client must expect. Any other one is a defect. */
  #expected(cause: unknown, what: string): void {
    if (!isHoldfastError(cause)) {
      if (cause instanceof Error && /^(no answer|connection refused)$/.test(cause.message)) return
      this.#world.model.violation(
        'SUB-2',
        `${what} of ${this.plan.name} met ${String((cause as Error)?.stack ?? cause)}`,
      )
      return
    }
    const isUsual =
      ['unavailable', 'rate_limited'].includes(cause.code) ||
      (what === 'get or answer' && ['conflict', 'invalid_request', 'fenced', 'closed'].includes(cause.code))
    if (!isUsual)
      this.#world.model.violation('SUB-2', `${what} of ${this.plan.name} met ${cause.code}: ${cause.message}`)
  }
}
