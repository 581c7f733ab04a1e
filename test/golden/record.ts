/**
 * Records the logs of the golden streams by executing real components: `node test/golden/record.ts`. Rarely needed: the streams
 * depend on the recorded logs and not on what a component does today.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { systemIds } from '../../src/core/ports/clock.ts'
import type { Event, LoggedEvent, Question } from '../../src/core/model/event.ts'
import { silentLogger } from '../../src/core/ports/logger.ts'
import { localPrincipal } from '../../src/core/model/principal.ts'
import { isFinished } from '../../src/core/model/run.ts'
import { Registry } from '../../src/core/registry.ts'
import { Service } from '../../src/core/service.ts'
import type { Store } from '../../src/core/ports/store.ts'
import { workIdentity } from '../../src/server/work-identity.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { Connection, readEvents } from '../support/node.ts'
import { until } from '../support/until.ts'
import { goldenComponents } from './components.ts'
import { formatLog, LOGS_FOLDER, runIdOf } from './log-file.ts'

interface Recording {
  readonly component: string
  readonly input: string
  /** The component's input, if it is not the text. */
  readonly given?: unknown
  readonly answer?: (question: Question) => unknown
  /** Leaves the run paused at its first question. */
  readonly paused?: true
  /** Stops the run, or kills its worker, once this many texts are in the log. */
  readonly stopAfter?: number
  readonly killAfter?: number
}

const yes = (): unknown => true

const recordings: Readonly<Record<string, Recording>> = {
  lab: {
    component: 'lab',
    input:
      'reason 2; text 3; tool search; tool broken fail; artifact report 1; state a; state b; usage 10 5; custom x; step s; say bye',
  },
  'lab-team': { component: 'lab-team', input: 'text 3; tool search; usage 7 3; artifact report 1' },
  'lab-workflow': { component: 'lab-workflow', input: 'text 3; tool search; usage 7 3' },
  'lab-ask': { component: 'lab', input: 'text 2; ask Shall I?; text 2; ask Really?; text 2', answer: () => 'yes' },
  'lab-paused': { component: 'lab', input: 'text 2; ask Shall I?; text 2', paused: true },
  'lab-throw': { component: 'lab', input: 'text 2; throw boom' },
  'lab-reject': { component: 'lab', input: 'text 1; reject not mine' },
  'lab-fail': { component: 'lab', input: 'text 1; fail it failed' },
  'lab-circular': { component: 'lab', input: 'text 1; circular; text 1' },
  'lab-output': { component: 'lab', input: 'complete all of it' },
  'lab-silent': { component: 'lab', input: 'sleep 0' },
  clerk: { component: 'clerk', input: 'pay Ada', answer: yes },
  newsroom: { component: 'newsroom', input: 'the sea' },
  publish: { component: 'publish', input: 'kelp' },
  gated: {
    component: 'gated',
    input: 'walk',
    answer: ({ kind }) =>
      kind === 'choice' ? 'left' : kind === 'input' ? 'Rome' : kind === 'review' ? 'accept' : true,
  },
  nameless: { component: 'nameless', input: 'go' },
  forecaster: {
    component: 'forecaster',
    input: 'Rome and Oslo',
    given: {
      messages: [{ role: 'user', content: 'Rome and Oslo' }],
      caller: {
        tools: [{ name: 'weather', parameters: { type: 'object', properties: { city: { type: 'string' } } } }],
      },
    },
    answer: ({ details }) => `dry in ${(details as { input: { city: string } }).input.city}`,
  },
  fickle: { component: 'fickle', input: 'go' },
  steady: { component: 'steady', input: 'go' },
  prefixes: { component: 'prefixes', input: 'go' },
  everything: { component: 'everything', input: 'go' },
  structured: { component: 'structured', input: 'go' },
  retrying: { component: 'retrying', input: 'go', killAfter: 2 },
  stopped: { component: 'hanging', input: 'go', stopAfter: 2 },
  notary: { component: 'notary', input: 'go', answer: () => 'Ada' },
  parrot: { component: 'parrot', input: 'go' },
}

const LEASE_MS = 150

async function record(name: string, recording: Recording): Promise<void> {
  const clock = createFakeClock()
  const store = createMemoryStore({ clock })
  const first = new Connection(store)
  const services = [openService(first.store, clock)]
  const { component, input, given = input, answer, paused } = recording
  const { stored } = await services[0]!.start(localPrincipal, { component, input: given, protocol: 'test' })
  const { id } = stored.run
  const outputOf = (count: number): Promise<unknown> =>
    until(`${name} said ${count}`, async () => textsIn(await readEvents(store, id)) >= count)
  if (recording.stopAfter !== undefined) {
    await outputOf(recording.stopAfter)
    await services[0]!.stop(localPrincipal, id, 'no longer wanted')
  }
  if (recording.killAfter !== undefined) {
    await outputOf(recording.killAfter)
    first.cut()
    clock.advance(LEASE_MS + 1)
    services.push(openService(store, clock))
  }
  for (;;) {
    const { run } = await until(`${name} pauses or ends`, async () => {
      const found = (await store.get(id))!
      return (found.run.status === 'paused' || isFinished(found.run.status)) && found
    })
    if (paused === true || isFinished(run.status)) break
    const answers = Object.fromEntries(run.waiting!.map((question) => [question.id, answer!(question)]))
    await services.at(-1)!.answer(localPrincipal, id, answers)
  }
  const log = await readEvents(store, id)
  const events = log.slice(1).map((event) => anonymous(event, id, name))
  writeFileSync(join(LOGS_FOLDER, `${name}.jsonl`), formatLog({ component, input, events }))
  for (const service of services.slice(-1)) await service.drain()
}

function openService(store: Store, clock: ReturnType<typeof createFakeClock>): Service {
  const service = new Service({
    store,
    registry: new Registry(goldenComponents()),
    clock,
    ids: systemIds(),
    logger: silentLogger,
    limits: { leaseMs: LEASE_MS, pollIntervalMs: 20, stopGraceMs: 50, drainTimeoutMs: 0 },
    ...workIdentity(store),
  })
  service.startScheduling()
  return service
}

function textsIn(log: readonly LoggedEvent[]): number {
  return log.filter(({ type }) => type === 'text.delta').length
}

/** Without its position, and with the run's id in the golden streams. */
function anonymous({ type, actor, data }: LoggedEvent, id: string, name: string): Event {
  const event = JSON.stringify({ type, ...(actor !== undefined && { actor }), data })
  return JSON.parse(event.replaceAll(id, runIdOf(name))) as Event
}

mkdirSync(LOGS_FOLDER, { recursive: true })
for (const [name, recording] of Object.entries(recordings)) {
  await record(name, recording)
  console.info(`recorded ${name}`)
}
process.exit() // a killed worker may still wait for its agent
