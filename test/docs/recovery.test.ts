/** The programs of docs/recovery.md, each in a component that is served and run. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { blocksOf, runProgram } from '../support/doc-programs.ts'

const blocks = blocksOf('docs/recovery.md', 'ts')
const [parallelSteps, caughtError, versioned, recordedDecision] = blocks as [string, string, string, string]

/** Commands that are not run here: they are about a run that diverged. */
const COMMANDS_NOT_RUN = ['holdfast runs --status paused', 'holdfast answer RUN retry']

/** Runs a component and prints its events, one JSON object per line. */
function served(component: string, definitions: string): string {
  return `
    import { agent, createServer, createMemoryStore, WorkError } from 'holdfast'
    import { createClient } from 'holdfast/client'
    ${definitions}
    const server = await createServer({ components: [${component}], store: createMemoryStore(), port: 0 })
    const client = createClient({ url: server.url })
    const run = await client.runs.start({ component: ${component}.id, input: 'order 7' })
    for await (const event of run.events()) console.log(JSON.stringify(event))
    await server.close()
    void WorkError`
}

function inAgent(body: string, definitions: string): string {
  return served(
    'documented',
    `${definitions}
    const documented = agent({ id: 'documented', recovery: 'resume', async *run(input, context) {
      ${body}
    } })`,
  )
}

interface Line {
  readonly type: string
  readonly data: Record<string, unknown>
}

async function eventsOf(source: string): Promise<Line[]> {
  return (await runProgram(source))
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line)
}

const named = (events: readonly Line[], type: string): unknown[] =>
  events.filter((event) => event.type === type).map(({ data }) => data['name'])

describe('docs/recovery.md', () => {
  test('docs/recovery.md: every block of code is run by this file', () => {
    expect(blocks).toHaveLength(4)
    const page = readFileSync(join(import.meta.dirname, '../../docs/recovery.md'), 'utf8')
    expect([...page.matchAll(/^ {4}(holdfast .*)$/gm)].map(([, command]) => command)).toEqual(COMMANDS_NOT_RUN)
    expect(page).not.toContain('```sh')
  })

  test('docs/recovery.md: concurrent steps with keys of their own complete', async () => {
    const definitions = `const pages = ['a', 'b']
      const fetchPage = async (page: string) => page.toUpperCase()`
    const events = await eventsOf(inAgent(`return ${parallelSteps}`, definitions))
    expect(named(events, 'step.completed')).toEqual(['fetch', 'fetch'])
    expect(events.at(-1)).toMatchObject({ type: 'run.completed', data: { output: ['A', 'B'] } })
  })

  test('docs/recovery.md: the error of a tool is recognized by its code', async () => {
    const definitions = `const charge = async (_: unknown): Promise<string> => {
      throw Object.assign(new Error('declined'), { code: 'CARD_DECLINED' })
    }`
    const events = await eventsOf(inAgent(caughtError, definitions))
    expect(events.at(-1)).toMatchObject({ type: 'run.completed', data: { output: 'Please use another card.' } })
  })

  test('docs/recovery.md: the versioned agent records its version', async () => {
    const definitions = `const charge = async (order: unknown) => \`charged \${order}\`
      ${versioned.replace('export ', '')}`
    const events = await eventsOf(served('payments', definitions))
    expect(events[0]).toMatchObject({ type: 'run.created', data: { version: '2.1.0' } })
    expect(events.find(({ type }) => type === 'text.delta')!.data).toEqual({ text: 'charged order 7' })
  })

  test('docs/recovery.md: a step decides once which version of the code a run takes', async () => {
    const definitions = `const charge = async (_: unknown) => 'charged'
      const checkLimit = async (_: unknown) => 'within the limit'`
    const events = await eventsOf(inAgent(recordedDecision, definitions))
    expect(named(events, 'step.completed')).toEqual(['version'])
    expect(named(events, 'tool.completed')).toEqual(['check-limit', 'charge'])
    expect(events.at(-1)!.type).toBe('run.completed')
  })
})
