/** Every example runs and prints the documented output. README's program is one of them. */
import { execFile } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'

const run = promisify(execFile)

/** Some start three processes, from the sources. */
const RUN_MS = 240_000

const folders = readdirSync('examples', { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
)

/** Standard output of an example, in lines. Those that restart a server at the same address take a port. */
async function outputOf(name: string): Promise<string[]> {
  const argv = ['--conditions=holdfast-source', `examples/${name}/main.ts`, String(await freePort())]
  // An AgentOS of the environment would change the output.
  const env = { ...process.env, AGENTOS_URL: undefined, AGENTOS_AGENT: undefined, NO_COLOR: '1' }
  const { stdout } = await run(process.execPath, argv, { timeout: RUN_MS, env })
  return stdout.replace(/\n$/, '').split('\n')
}

const printed: Readonly<Record<string, readonly string[]>> = {
  'ai-agent': ["called depth { place: 'the kelp forest' }", 'result 12', 'It is 12 metres deep.'],
  approval: [
    'result of balance',
    "approval May send be called? { tool: 'send', input: { amount: 25 }, call: 'call_2_1' }",
    'sent so far []',
    'result of send',
    'Done.',
    'sent [ 25 ]',
  ],
  isolated: ['quick: true', 'stuck: running', 'stuck: cancelled'],
  langgraph: ['Is this good: kelp, draft 1?', 'kelp, draft 1: printed'],
  mcp: ["called high_water { harbour: 'Kirkwall' }", 'High water: Kirkwall: 14:20'],
  'openai-agents': [
    'agent: Desk',
    'agent: Biologist',
    'Kelp is an alga. { inputTokens: 10, outputTokens: 10, totalTokens: 20 }',
  ],
  process: [
    'You want to know about kelp. ',
    'look-up returned an alga',
    'How deep do you want to go?',
    'At 12 metres it is still green.',
    "{ word: 'kelp', depth: 12 }",
  ],
  'remote-a2a': ['Kelp is ', 'an alga.', 'Kelp is an alga.'],
  'remote-agentos': [
    'Kelp ',
    '(the remote server restarted)',
    'grows ',
    'half ',
    'a metre ',
    'a day.',
    'Kelp grows half a metre a day.',
  ],
  team: [
    '{',
    "  harbour: 'harbour on the kelp.',",
    "  weather: 'weather on the kelp.',",
    "  newsroom: 'harbour on the kelp. weather on the kelp.'",
    '}',
    'harbour on the kelp. weather on the kelp.',
  ],
  'ag-ui': ['user, assistant, assistant', 'May send be called?', 'It is sent.', 'true', 'bank: completed'],
  'use-chat': [
    'I will send it.  | approval-requested',
    'I will send it.  | output-available | It is sent.',
    'user, assistant',
    'bank: completed',
  ],
  workflow: ['outline', 'pictures', 'killed', 'facts', 'print', 'kelp: 3 facts, a picture'],
}

/** Need packages and a build, so `npm run interop:mount` and `npm run interop:front-ends` run them. */
const BUILT = ['next', 'next-chat', 'assistant-ui']

/** The server is killed during the run. */
const KILLED = ['kill-and-resume', 'express', 'hono', 'fastify', 'http', 'bun']

describe('examples', { timeout: RUN_MS + 30_000 }, () => {
  test.each(Object.keys(printed))('example %s prints what its run does', async (name) => {
    expect(await outputOf(name)).toEqual(printed[name])
  })

  test('example hello prints every event of a run, in order, to its end', async () => {
    expectWholeCount(await outputOf('hello'), 'Sheep')
  })

  test.each(KILLED)('example %s prints every event once across a SIGKILL of the server', async (name) => {
    const lines = await outputOf(name)
    const kill = lines.indexOf('killed')
    const events = lines.filter((line) => /^\d+ [a-z]+\./.test(line))
    // The log may continue after the event at which the server is killed: on a busy machine its reader is behind.
    const starts = lines.flatMap((line, at) => (line.endsWith(' run.started ') ? [at] : []))
    expect(starts.map((at) => at > kill)).toEqual([false, true])
    expect(lines.at(-1)).toBe(`${events.length} events, each once`)
    expect(lines).toHaveLength(events.length + 2)
    expectWholeCount(events, 'Wave')
  })
})

/** Indexes from 0 without a gap, a count from 1 to the goal without a gap, and the end of a completed run. */
function expectWholeCount(lines: readonly string[], word: string): void {
  expect(lines.map((line) => Number.parseInt(line, 10))).toEqual([...lines.keys()])
  expect(lines.at(-1)).toBe(`${lines.length - 1} run.completed `)
  const counts = lines.flatMap((line) => new RegExp(` text\\.delta ${word} (\\d+) of (\\d+)$`).exec(line) ?? [])
  const goal = Number(counts[2])
  expect(goal).toBeGreaterThanOrEqual(50)
  expect(counts.filter((_, place) => place % 3 === 1).map(Number)).toEqual(
    Array.from({ length: goal }, (_, position) => position + 1),
  )
}

test('every folder of examples is tested and described', () => {
  expect(folders.toSorted()).toEqual([...Object.keys(printed), 'hello', ...KILLED, ...BUILT].toSorted())
  const described = [...readFileSync('examples/README.md', 'utf8').matchAll(/^\| \[([\w-]+)\]\(\1\/main\.ts\)/gm)]
  expect(described.map(([, name]) => name!).toSorted()).toEqual(folders.toSorted())
})

test.each(folders)('example %s uses the client, and explains how to run it and what to expect', (name) => {
  const source = readFileSync(`examples/${name}/main.ts`, 'utf8')
  expect(source).toMatch(/['"]holdfast\/(client|ai-sdk)'/)
  // Except for a page of the application itself.
  expect(source.replace('fetch(`${url}/c1`)', '')).not.toContain('fetch(')
  expect(source).toContain(`Run it: node --conditions=holdfast-source examples/${name}/main.ts`)
  expect(source).toMatch(/ \* Expect: /)
})

test("README's program is the one in examples/hello", () => {
  const [, program] = /```ts\n\/\/ agents\.ts\n([^]*?)```/.exec(readFileSync('README.md', 'utf8')) ?? []
  expect(program).toBe(readFileSync('examples/hello/agents.ts', 'utf8'))
})
