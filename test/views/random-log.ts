/** Random logs with everything that protocols show: actors, retries, retractions, pauses, tools, steps, artifacts, models, states. */
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
  #attempt = 1

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
    const text = this.#random.pick(['word ', 'Grüße ', '', 'a\n\nb ', '“quoted” ', '"\\ / ', '\u0001', '\ud83d'])
    this.add({ type: 'text.delta', data: { text, ...message } }, this.someone())
  }

  /** As many as a model streams before anything else happens. */
  saySeveral(): void {
    const actor = this.#random.chance(0.8) ? undefined : this.someone()
    for (let left = this.#random.between(2, 12); left > 0; left--)
      this.add({ type: 'text.delta', data: { text: this.#random.pick(['the "keel" ', 'was laid ']) } }, actor)
    if (this.#random.chance(0.3)) this.add({ type: 'text.completed', data: { message: 'm1' } }, actor)
  }

  /** Another worker takes the run over. */
  retry(): void {
    const { length } = this.events
    const from = Math.max(1, length - this.#random.between(0, 30))
    const ledger = this.#random.pick(['kept', 'dropped'] as const)
    if (this.#random.chance(0.3)) this.add({ type: 'run.released', data: { reason: 'draining' } })
    else
      this.add({
        type: 'attempt.discarded',
        data: { attempt: this.#attempt, from, scope: 'all', ledger, reason: 'crash' },
      })
    this.add({ type: 'run.started', data: { attempt: ++this.#attempt } })
  }

  askModel(): void {
    const [actor, request] = [this.someone(), this.name('r')]
    const usage = { inputTokens: 2, outputTokens: 1 }
    this.add({ type: 'model.requested', data: { request, model: 'm', provider: 'p' } }, actor)
    this.say()
    this.add({ type: 'model.responded', data: { request, model: 'm', finish: 'stop', usage } }, actor)
  }

  draftTool(): void {
    const [actor, call] = [this.someone(), this.name('c')]
    const input = this.#random.pick([{ q: 1 }, { q: 'a "b" ü', tags: ['x', null, -1.5], deep: { all: true } }])
    const text = JSON.stringify(input)
    const cut = this.#random.between(0, text.length)
    this.add({ type: 'tool.drafted', data: { call, name: 'search', delta: text.slice(0, cut) } }, actor)
    if (this.#random.chance(0.2)) return
    this.add({ type: 'tool.drafted', data: { call, name: 'search', delta: text.slice(cut) } }, actor)
    if (this.#random.chance(0.1)) return
    this.add({ type: 'tool.called', data: { call, name: 'search', input } }, actor)
    this.add({ type: 'tool.progressed', data: { call, output: 'half' } }, actor)
    this.#calls.push({ call, actor })
  }

  remark(): void {
    const url = 'https://example.com/'
    const event = this.#random.pick<Event>([
      { type: 'source.cited', data: { source: this.name('u'), url, title: 'A page' } },
      { type: 'state.replaced', data: { state: { count: 1 } } },
      { type: 'state.patched', data: { patch: [{ op: 'replace', path: '/count', value: 2 }] } },
      { type: 'custom.emitted', data: { name: 'chart', value: [1, 2] } },
      { type: 'sleep.started', data: { until: '2026-01-01T00:00:00.000Z', key: this.name('z') } },
      { type: 'stop.requested', data: { reason: 'enough' } },
    ])
    this.add(event, event.type === 'stop.requested' ? undefined : this.someone())
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
    if (actor === undefined) return
    const error = { code: 'agent_failed', message: 'no' }
    if (this.#random.chance(0.3)) this.add({ type: 'actor.failed', data: { error, key: actor.run } }, actor)
    else this.add({ type: 'actor.completed', data: { output: 'fine', key: actor.run } }, actor)
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
    if (this.#random.chance(0.2))
      return this.add({ type: 'step.skipped', data: { step, name: step, reason: 'no need' } })
    this.add({ type: 'step.started', data: { step, name: step, kind: 'function' } })
    this.say()
    const error = { code: 'step_failed', message: 'no' }
    if (this.#random.chance(0.2)) this.add({ type: 'step.failed', data: { step, name: step, error } })
    else this.add({ type: 'step.completed', data: { step, name: step, output: 'ok' } })
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
  (script) => script.saySeveral(),
  (script, random) => random.chance(0.2) && script.retry(),
  (script) => script.askModel(),
  (script) => script.draftTool(),
  (script) => script.remark(),
]
