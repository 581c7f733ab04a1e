/**
 * Output retracted by a discarded attempt, on every view of a log: scopes, actors and protocols. All views use one rule, which the
 * last tests show by breaking it.
 */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test, vi } from 'vitest'
import { ConversationBlocks } from '../../console/run/conversation-blocks.ts'
import { RunTree } from '../../src/cli/display/tree.ts'
import { RunText, RunView } from '../../src/client/index.ts'
import type { Actor, Event, LoggedEvent } from '../../src/core/model/event.ts'
import type { Projection } from '../../src/core/ports/projection.ts'
import { RecordingReader } from '../../src/core/recovery/recording.ts'
import { transcriptOf } from '../../src/core/sessions/transcript.ts'
import { RunStructure } from '../../src/core/structure/run-structure.ts'
import { textFrom } from '../../src/core/structure/text-pieces.ts'
import { taskOf } from '../../src/protocols/a2a/view/task.ts'
import { taskProjection } from '../../src/protocols/a2a/view/projection.ts'
import { textOf } from '../../src/protocols/agentos/view/content.ts'
import { agentosProjection } from '../../src/protocols/agentos/view/projection.ts'
import { newestChunks } from '../../src/ai-sdk/view/chunk-list.ts'
import { chatProjection as aiSdkProjection } from '../../src/ai-sdk/view/projection.ts'
import { messagesOf } from '../../src/protocols/ag-ui/view/messages.ts'
import { agentKind } from '../../src/protocols/ag-ui/view/projection.ts'
import { callKind } from '../../src/protocols/mcp/view/projection.ts'
import { completionProjection, toCompletion } from '../../src/protocols/openai/chat/projection.ts'
import { toResponse } from '../../src/protocols/openai/responses/object.ts'
import { responseProjection } from '../../src/protocols/openai/responses/projection.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { newRun, RunWriter } from '../../src/testing/fixtures.ts'

const RUN = 'run_1'
const TIME = '2026-01-01T00:00:00.000Z'

const rule = vi.hoisted(() => ({ isBroken: false }))

vi.mock('../../src/core/structure/retraction.ts', async (original) => {
  const real = await original<typeof import('../../src/core/structure/retraction.ts')>()
  const retractedFrom: typeof real.retractedFrom = (event, whose) =>
    rule.isBroken ? Infinity : real.retractedFrom(event, whose)
  return { ...real, retractedFrom }
})

/** Actors by key, as events name them: team members, a workflow with a step, and its concurrent branches. */
const actors = new Map<string, Actor>(
  [
    'facts', // a member of a team
    'facts/check', // called by the member
    'facts/check/deep',
    'facts-more', // a member whose name begins alike
    'facts-more/check',
    'fact',
    'flow',
    'flow/write', // executes a step of the workflow
    'flow/write/check',
    'flow/both~/facts', // parallel branches
    'flow/both~/facts/check',
    'flow/both~/facts-more',
    'facts#2', // the next call of the first member
  ].map((key) => [key, { component: 'c', run: `${RUN}/${key}`, parent: parentOf(key), kind: 'agent' }]),
)

function parentOf(key: string): string {
  const parts = key.split('/').slice(0, -1)
  const caller = parts.filter((part) => !part.endsWith('~'))
  return [RUN, ...caller].join('/')
}

const OWN = ''
const EVERYONE = [OWN, ...actors.keys()]

type Scope = 'all' | 'own' | 'below'

interface Case {
  readonly what: string
  readonly by: string
  readonly scope: Scope
  readonly ledger: 'kept' | 'dropped'
  readonly retracted: readonly string[]
}

const cases: readonly Case[] = [
  { what: 'an attempt of the run', by: OWN, scope: 'all', ledger: 'dropped', retracted: EVERYONE },
  { what: "the run's own output", by: OWN, scope: 'own', ledger: 'kept', retracted: [OWN] },
  { what: 'the run and everyone that it called', by: OWN, scope: 'below', ledger: 'kept', retracted: EVERYONE },
  { what: 'a member alone', by: 'facts', scope: 'own', ledger: 'kept', retracted: ['facts'] },
  {
    what: 'a member and those that it called',
    by: 'facts',
    scope: 'below',
    ledger: 'kept',
    retracted: ['facts', 'facts/check', 'facts/check/deep'],
  },
  { what: 'a called one alone', by: 'facts/check', scope: 'own', ledger: 'kept', retracted: ['facts/check'] },
  {
    what: 'a called one',
    by: 'facts/check',
    scope: 'below',
    ledger: 'kept',
    retracted: ['facts/check', 'facts/check/deep'],
  },
  { what: 'the innermost', by: 'facts/check/deep', scope: 'below', ledger: 'kept', retracted: ['facts/check/deep'] },
  {
    what: 'the longer name',
    by: 'facts-more',
    scope: 'below',
    ledger: 'kept',
    retracted: ['facts-more', 'facts-more/check'],
  },
  { what: 'the shorter name', by: 'fact', scope: 'below', ledger: 'kept', retracted: ['fact'] },
  { what: 'the next call', by: 'facts#2', scope: 'below', ledger: 'kept', retracted: ['facts#2'] },
  {
    what: 'the executor of a step',
    by: 'flow/write',
    scope: 'below',
    ledger: 'kept',
    retracted: ['flow/write', 'flow/write/check'],
  },
  { what: 'the executor of a step alone', by: 'flow/write', scope: 'own', ledger: 'kept', retracted: ['flow/write'] },
  {
    what: 'a parallel branch',
    by: 'flow/both~/facts',
    scope: 'below',
    ledger: 'kept',
    retracted: ['flow/both~/facts', 'flow/both~/facts/check'],
  },
  {
    what: 'a workflow',
    by: 'flow',
    scope: 'below',
    ledger: 'kept',
    retracted: EVERYONE.filter((key) => key.startsWith('flow')),
  },
]

/** Every actor emits text before and after the index from which output is retracted. */
function eventsOf({ by, scope, ledger }: Case): Event[] {
  const sayAll = (text: string): Event[] =>
    EVERYONE.map((key) => ({ type: 'text.delta', data: { text }, ...actorOf(key) }))
  const events: Event[] = [
    { type: 'run.created', data: { component: 'c', input: 'hi', session: 's' } },
    { type: 'run.started', data: { attempt: 1 } },
    ...Array.from(actors, ([key, actor]): Event => ({ type: 'actor.started', data: { input: null, key }, actor })),
    ...sayAll('before'),
  ]
  const data = { attempt: 1, from: events.length, scope, ledger, reason: 'failed' } as const
  return [...events, ...sayAll('+after'), { type: 'attempt.discarded', data, ...actorOf(by) }]
}

function actorOf(key: string): { readonly actor?: Actor } {
  return key === OWN ? {} : { actor: actors.get(key)! }
}

function keyOf(run: string | undefined): string {
  return run === undefined || run === RUN ? OWN : run.slice(RUN.length + 1)
}

/** What a view shows, by actor. */
type Shown = ReadonlyMap<string, string>
type View = (log: readonly LoggedEvent[]) => Shown | Promise<Shown>

const made = newRun(RUN, TIME)

function stateOf<State>(projection: Projection<State, unknown>, log: readonly LoggedEvent[]): State {
  return log.reduce((state, event) => projection.apply(state, event).state, projection.initial(made.run))
}

function structureOf(log: readonly LoggedEvent[]): RunStructure {
  const structure = new RunStructure()
  for (const event of log) structure.apply(event)
  return structure
}

function textByActor(entries: Iterable<readonly [string, string]>): Shown {
  const shown = new Map<string, string>()
  for (const [key, text] of entries) shown.set(key, (shown.get(key) ?? '') + text)
  return shown
}

const views: Readonly<Record<string, View>> = {
  'native text': (log) => {
    const text = new RunText()
    for (const event of log) text.apply(event)
    return new Map([[OWN, text.value]])
  },
  RunView: (log) => {
    const view = new RunView()
    view.apply(log)
    return new Map([[OWN, view.state.text]])
  },
  structure: (log) =>
    textByActor(
      structureOf(log)
        .entries()
        .flatMap((entry) =>
          entry.kind === 'text' && !entry.retracted ? [[keyOf(entry.actor || RUN), entry.text] as const] : [],
        ),
    ),
  transcript: (log) => {
    const { own, actors: others } = transcriptOf(log)
    return new Map([[OWN, own.text], ...Array.from(others, ([run, { text }]) => [keyOf(run), text] as const)])
  },
  console: (log) =>
    textByActor(
      new ConversationBlocks(structureOf(log))
        .list()
        .flatMap((block) =>
          block.kind === 'text' && !block.discarded ? [[keyOf(block.actor || RUN), block.text] as const] : [],
        ),
    ),
  'CLI tree': (log) => {
    const tree = new RunTree()
    for (const event of log) tree.apply(event)
    return new Map(tree.open.map(({ entry, tail }) => [keyOf(entry.actor), tail]))
  },
  AgentOS: (log) => {
    const { speakers } = stateOf(
      agentosProjection(() => undefined),
      log,
    )
    return new Map(Array.from(speakers.values(), (speaker) => [keyOf(speaker.run), textOf(speaker)]))
  },
  A2A: (log) => {
    const { artifacts = [] } = taskOf(stateOf(taskProjection, log))
    return new Map(
      artifacts.map(({ metadata, parts }) => [
        keyOf((metadata?.['actor'] as Actor | undefined)?.run),
        parts.map(({ text }) => text).join(''),
      ]),
    )
  },
  'chat completions': (log) => {
    const completion = toCompletion(stateOf(completionProjection({ part: 0 }), log), { finish: 'stop' }) as {
      readonly choices: readonly { readonly message: { readonly content: string } }[]
    }
    return new Map([[OWN, completion.choices[0]!.message.content]])
  },
  Responses: (log) => {
    const { output } = toResponse(stateOf(responseProjection(0), log)) as {
      readonly output: readonly { readonly content: readonly { readonly text: string }[] }[]
    }
    return new Map([[OWN, output.flatMap(({ content }) => content.map(({ text }) => text)).join('')]])
  },
  /** Chunks without retracted ones: what a client gets when it replays the message. */
  'AI SDK': (log) => {
    const { chunks } = stateOf(aiSdkProjection({ leg: 0, restart: 0, tools: 'dynamic' }), log)
    const standing = newestChunks(chunks, () => true)
    return new Map([[OWN, standing.map(({ chunk }) => (chunk.type === 'text-delta' ? chunk.delta : '')).join('')]])
  },
  /** The messages of a client that attaches. */
  'AG-UI': (log) => {
    const shown = new Map<string, string>()
    for (const { subagentRunId, content } of messagesOf(stateOf(agentKind.projection, log).pieces)) {
      const key = keyOf(subagentRunId ?? RUN)
      shown.set(key, (shown.get(key) ?? '') + String(content))
    }
    return shown
  },
  MCP: (log) => new Map([[OWN, textFrom(stateOf(callKind.projection, log).text)]]),
  /** What a recovered run expects to be emitted again. */
  recovery: async (log) => {
    const clock = createFakeClock()
    const store = createMemoryStore({ clock })
    const claimed = newRun(RUN, clock.iso(), { claim: { worker: 'runWriter', ttlMs: 60_000 } })
    const runWriter = new RunWriter(store, clock, (await store.create(claimed)).stored, [claimed.record])
    for (const event of log.slice(1)) runWriter.append(event)
    await runWriter.flush()
    const { output } = await (await RecordingReader.read(store, RUN, log.length, 1_000_000)).recording()
    const texts = ['', 'before', 'before+after']
    return new Map(Array.from(output, ([key, { emitted }]) => [keyOf(key || RUN), texts[emitted.length]!]))
  },
}

function logged(events: readonly Event[]): LoggedEvent[] {
  return events.map((event, index) => ({ ...event, run: RUN, index, time: TIME }))
}

describe.each(Object.entries(views))('%s', (_, view) => {
  test.each(cases)('retracts $what ($scope), and nothing else', async (row) => {
    const shown = await view(logged(eventsOf(row)))
    expect(shown.size).toBeGreaterThan(0)
    const expected = [...shown.keys()].map((key) => [key, row.retracted.includes(key) ? 'before' : 'before+after'])
    expect([...shown]).toEqual(expected)
  })
})

test.each(['structure', 'transcript', 'console', 'AgentOS', 'A2A', 'recovery'])(
  '%s shows every actor of the table',
  async (name) => {
    const shown = await views[name]!(logged(eventsOf(cases[1]!)))
    expect([...shown.keys()].toSorted()).toEqual(EVERYONE.toSorted())
  },
)

describe('the rule of what is retracted', () => {
  test.each(Object.entries(views))('%s uses the shared retraction rule', async (_, view) => {
    const log = logged(eventsOf(cases[0]!))
    const shown = await view(log)
    rule.isBroken = true
    try {
      const broken = await view(log)
      expect([...broken]).not.toEqual([...shown])
    } finally {
      rule.isBroken = false
    }
  })

  test('retraction: the rule is written once', () => {
    const root = join(import.meta.dirname, '../..')
    const files = ['src', 'console'].flatMap((folder) =>
      readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' }).map((file) => join(folder, file)),
    )
    const sources = files.filter((file) => /(?<!\.test)\.tsx?$/.test(file))
    const copies = sources.filter((file) =>
      /scope\s*[!=]==\s*'(?:all|own|below)'/.test(readFileSync(join(root, file), 'utf8')),
    )
    expect(copies).toEqual([join('src', 'core', 'structure', 'retraction.ts')])
  })
})
