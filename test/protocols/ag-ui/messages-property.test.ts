/** AG-UI's own client reduces our streams to the content of the log, for golden and random logs, also when it attaches midway. */
import { HttpAgent, type Message } from '@ag-ui/client'
import { EventSchema } from '@ag-ui/core/schemas'
import { expect, test, vi } from 'vitest'
import { RunText } from '../../../src/client/index.ts'
import type { Event, LoggedEvent } from '../../../src/core/model/event.ts'
import { snapshotOf } from '../../../src/protocols/ag-ui/requests/attach.ts'
import { messagesOf } from '../../../src/protocols/ag-ui/view/messages.ts'
import { agentKind } from '../../../src/protocols/ag-ui/view/projection.ts'
import type { AgentState } from '../../../src/protocols/ag-ui/view/state.ts'
import type { AgUiEvent, AgUiMessage } from '../../../src/protocols/ag-ui/wire/events.ts'
import { encodeSnapshot } from '../../../src/protocols/ag-ui/wire/stream.ts'
import { newRun } from '../../../src/testing/fixtures.ts'
import { readLogs } from '../../golden/log-file.ts'
import { withSeed } from '../../support/with-seed.ts'
import { randomEvents } from '../../views/random-log.ts'

const TIME = '2026-01-01T00:00:00.000Z'

function logged(run: string, component: string, events: readonly Event[]): LoggedEvent[] {
  const created: Event = { type: 'run.created', data: { component, input: 'go', session: 's' } }
  return [created, ...events].map((event, index) => ({ ...event, run, index, time: TIME }))
}

interface Folded {
  /** After each event of the log. */
  readonly states: readonly AgentState[]
  /** Of each event of the log. */
  readonly frames: readonly (readonly AgUiEvent[])[]
}

function fold(log: readonly LoggedEvent[]): Folded {
  const { projection } = agentKind
  const states: AgentState[] = []
  const frames: AgUiEvent[][] = []
  let state = projection.initial(newRun(log[0]!.run, TIME).run)
  for (const event of log) {
    const step = projection.apply(state, event)
    state = step.state
    states.push(state)
    frames.push(step.frames.map((frame) => frame.event))
  }
  return { states, frames }
}

interface ShownThread {
  readonly messages: readonly Message[]
  readonly state: unknown
}

const LOGS = 40

const USER: Message = { id: 'user-1', role: 'user', content: 'go' }

/** What the client has after a stream. It checks the order of events, and throws if one is wrong. */
async function follow(events: readonly AgUiEvent[], before: ShownThread): Promise<ShownThread> {
  const fetched = (): Promise<Response> =>
    Promise.resolve(
      new Response(encodeSnapshot({ earlier: [USER as AgUiMessage] }, events), {
        headers: { 'content-type': 'text/event-stream' },
      }),
    )
  const agent = new HttpAgent({
    url: 'http://localhost/ag-ui',
    fetch: fetched,
    initialMessages: [...before.messages],
    initialState: before.state,
  })
  await agent.runAgent()
  // Retracted reasoning is emptied, because the client does not remove it.
  const messages = agent.messages.filter(({ role, content }) => role !== 'reasoning' || content !== '')
  return { messages, state: agent.state as unknown }
}

function textInLog(log: readonly LoggedEvent[]): string {
  const text = new RunText()
  for (const event of log) text.apply(event)
  return text.value
}

function ownTextOf(messages: readonly Message[]): string {
  return messages
    .map(({ role, content, ...rest }) =>
      role === 'assistant' && !('subagentRunId' in rest) && typeof content === 'string' ? content : '',
    )
    .join('')
}

async function expectExact(log: readonly LoggedEvent[], cuts: readonly number[]): Promise<void> {
  const { states, frames } = fold(log)
  const all = frames.flat()
  for (const event of all) EventSchema.parse(event)
  const before: ShownThread = { messages: [USER], state: {} }
  const whole = await follow(all, before)
  const end = states.at(-1)!
  expect(whole.messages).toEqual([USER, ...messagesOf(end.pieces)])
  // An output that was not streamed is the text of its message.
  expect(ownTextOf(whole.messages)).toBe(textInLog(log) || ownTextOf(whole.messages))
  for (const cut of cuts) {
    const seen = frames.slice(0, cut + 1).flat()
    const state = states[cut]!
    const { events: attached, hasEnded } = snapshotOf(state, messagesOf(state.pieces))
    for (const event of attached) EventSchema.parse(event)
    // A client that has nothing, and one that has what was sent before the cut.
    for (const known of [{ messages: [], state: {} }, await follow(seen, before)]) {
      const rest = hasEnded ? frames.slice(cut + 1).flat() : [...attached, ...frames.slice(cut + 1).flat()]
      const first = hasEnded ? await follow(attached, known) : known
      const shown = rest.length === 0 ? first : await follow(rest, first)
      expect(shown.messages, `attached after event ${cut}`).toEqual(whole.messages)
    }
  }
}

/** The client reports failed runs there. */
function silenceClient(): void {
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
}

test.each(readLogs().map((log) => [log.name, log] as const))(
  'AG-UI: the client has the messages of the golden log %s, from every position',
  async (name, { component, events }) => {
    silenceClient()
    const log = logged(`run_${name}`, component, events)
    const every = Math.max(1, Math.floor(log.length / 40))
    await expectExact(
      log,
      log
        .keys()
        .filter((index) => index % every === 0)
        .toArray(),
    )
  },
)

test('AG-UI: the client has the messages of random logs, from random positions', () =>
  withSeed(async (random, progress) => {
    silenceClient()
    for (let round = 0; round < LOGS; round++) {
      progress['round'] = round
      const log = logged('run_x', 'c', randomEvents(random, 'run_x', 120))
      await expectExact(log, [random.between(0, log.length - 1), random.between(0, log.length - 1)])
    }
  }))
