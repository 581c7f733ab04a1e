/** Random logs with everything that protocols show: actors, retractions, pauses, tools, steps, artifacts. */
import type { Actor, Event } from '../../src/core/model/event.ts'
import type { Random } from '../support/random.ts'

/** Events after `run.created`; the last one ends the run. */
export function randomEvents(random: Random, run: string, count: number): Event[] {
  const script = new Script(random, run)
  while (script.events.length < count) script.next()
  script.end()
  return script.events
}

class Script {
  readonly events: Event[] = [{ type: 'run.started', data: { attempt: 1 } }]
  readonly #random: Random
  readonly #run: string
  readonly #actors: Actor[] = []
  readonly #calls: { readonly call: string; readonly actor: Actor | undefined }[] = []
  #named = 0

  constructor(random: Random, run: string) {
    this.#random = random
    this.#run = run
  }

  next(): void {
    const act = this.#random.pick(ACTS)
    act(this, this.#random)
  }

  end(): void {
    this.add(
      this.#random.pick<Event>([
        { type: 'run.completed', data: { output: 'done', usage: { inputTokens: 3, outputTokens: 4 } } },
        { type: 'run.completed', data: {} },
        { type: 'run.failed', data: { error: { code: 'agent_failed', message: 'boom' } } },
        { type: 'run.cancelled', data: { reason: 'enough' } },
      ]),
    )
  }

  add(event: Event, actor?: Actor): void {
    this.events.push(actor === undefined ? event : { ...event, actor })
  }

  name(prefix: string): string {
    return `${prefix}${++this.#named}`
  }

  /** One that was called, or the run's own component. */
  someone(): Actor | undefined {
    return this.#random.chance(0.5) ? undefined : this.#actors.at(this.#random.between(0, this.#actors.length))
  }

  say(): void {
    const message = this.#random.chance(0.3) ? { message: `m${this.#random.between(1, 3)}` } : {}
    const text = this.#random.pick(['word ', 'Grüße ', '', 'a\n\nb ', '“quoted” '])
    this.add({ type: 'text.delta', data: { text, ...message } }, this.someone())
  }

  callActor(): void {
    const parent = this.someone()
    const key = this.name('a')
    const actor: Actor = {
      component: this.#random.pick(['facts', 'facts-more']),
      run: `${parent?.run ?? this.#run}/${key}`,
      parent: parent?.run ?? this.#run,
      kind: this.#random.pick(['agent', 'team', 'workflow'] as const),
    }
    this.#actors.push(actor)
    this.add({ type: 'actor.started', data: { input: 'go', key } }, actor)
  }

  endActor(): void {
    const actor = this.#actors.pop()
    if (actor !== undefined) this.add({ type: 'actor.completed', data: { output: 'fine', key: actor.run } }, actor)
  }

  callTool(): void {
    const call = this.name('c')
    const actor = this.someone()
    const key = this.#random.chance(0.5) ? { key: call } : {}
    this.#calls.push({ call, actor })
    this.add({ type: 'tool.called', data: { call, name: 'search', input: { q: call }, ...key } }, actor)
  }

  endTool(): void {
    const called = this.#calls.shift()
    if (called === undefined) return
    const { call, actor } = called
    const error = { code: 'tool_failed', message: 'no' }
    if (this.#random.chance(0.3)) this.add({ type: 'tool.failed', data: { call, name: 'search', error } }, actor)
    else this.add({ type: 'tool.completed', data: { call, name: 'search', output: [call] } }, actor)
  }

  discard(): void {
    const from = Math.max(1, this.events.length - this.#random.between(0, 20))
    const scope = this.#random.pick(['all', 'own', 'below'] as const)
    const ledger = this.#random.pick(['kept', 'dropped'] as const)
    this.add({ type: 'attempt.discarded', data: { attempt: 1, from, scope, ledger, reason: 'failed' } }, this.someone())
  }

  ask(): void {
    const id = this.name('q')
    const kind = this.#random.pick(['input', 'approval', 'tool'] as const)
    const details = kind === 'tool' ? { details: { tool: 'weather', input: { city: 'Rome' } } } : {}
    this.add({ type: 'run.paused', data: { questions: [{ id, kind, prompt: 'Well?', ...details }] } })
    this.add({ type: 'run.resumed', data: { answers: { [id]: 'yes' } } })
  }

  step(): void {
    const step = this.name('s')
    this.add({ type: 'step.started', data: { step, name: step, kind: 'function' } })
    this.say()
    this.add({ type: 'step.completed', data: { step, name: step, output: 'ok' } })
  }

  artifact(): void {
    const artifact = this.#random.pick(['note', 'table'])
    const append = this.#random.chance(0.5)
    this.add({ type: 'artifact.added', data: { artifact, mediaType: 'text/plain', text: 'x', append } }, this.someone())
  }

  think(): void {
    const actor = this.someone()
    this.add({ type: 'reasoning.delta', data: { text: 'hm ' } }, actor)
    if (this.#random.chance(0.5)) this.add({ type: 'reasoning.completed', data: { message: 'r' } }, actor)
  }
}

const say = (script: Script): void => script.say()

/** Mostly text, as in real runs. */
const ACTS: readonly ((script: Script, random: Random) => void)[] = [
  ...Array.from({ length: 12 }, () => say),
  (script) => script.callActor(),
  (script) => script.endActor(),
  (script) => script.callTool(),
  (script) => script.endTool(),
  (script, random) => random.chance(0.5) && script.discard(),
  (script, random) => random.chance(0.2) && script.ask(),
  (script) => script.step(),
  (script) => script.artifact(),
  (script) => script.think(),
]
