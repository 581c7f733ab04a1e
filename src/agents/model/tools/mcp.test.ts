/** Tools of real MCP servers, over stdio and HTTP. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { tool } from 'ai'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { failureOf, resultOf } from '../../../../test/support/workflow-helpers.ts'
import { calculator } from '../../../../test/support/mcp/calculator.ts'
import { serveMcp } from '../../../../test/support/mcp/serve.ts'
import { openNode, type TestNode } from '../../../../test/support/node.ts'
import { temporaryFolder } from '../../../../test/support/temporary.ts'
import { until } from '../../../../test/support/until.ts'
import type { LoggedEvent } from '../../../core/model/event.ts'
import { modelAgent } from '../agent.ts'
import { mcp, type McpServer, type McpServers } from './mcp.ts'
import type { ScriptedCall } from '../scripted/scripted-call.ts'
import { type ScriptedOutput, scriptedModel } from '../scripted/scripted.ts'
import type { AgentTools } from './tool-sources.ts'

const overStdio: McpServer = {
  command: process.execPath,
  args: [fileURLToPath(new URL('../../../../test/support/mcp/calculator.ts', import.meta.url))],
}

const PATIENCE_MS = 180_000

function nodeWith(tools: AgentTools, script: (call: ScriptedCall) => ScriptedOutput): TestNode {
  return openNode({ components: [modelAgent({ id: 'subject', model: scriptedModel({ script }), tools })] })
}

async function logOf(tools: AgentTools, script: (call: ScriptedCall) => ScriptedOutput): Promise<LoggedEvent[]> {
  const node = nodeWith(tools, script)
  return node.ended(await node.start('subject', 'go'), PATIENCE_MS)
}

/** Calls one tool per turn, and responds with the result of the last. */
function calling(...calls: readonly [string, unknown?][]): (call: ScriptedCall) => ScriptedOutput {
  return ({ turn, results }) => {
    const next = calls[turn - 1]
    if (next === undefined) return JSON.stringify(results.at(-1)!.output)
    return [{ type: 'tool', name: next[0], input: next[1] ?? {} }]
  }
}

/** Text of the last tool result. */
function textIn(log: readonly LoggedEvent[]): string {
  const output = JSON.parse(resultOf(log) as string) as string | { text: string }[]
  return typeof output === 'string' ? output : output.map(({ text }) => text).join('')
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('MCP: an agent with tools of a server', { timeout: PATIENCE_MS }, () => {
  test('a stdio server’s tools are called, and its process ends with the run', async () => {
    const log = await logOf(mcp({ calculator: overStdio }), calling(['add', { a: 2, b: 3 }], ['pid']))
    expect(log.find(({ type }) => type === 'tool.completed')!.data).toMatchObject({
      name: 'add',
      output: { content: [{ type: 'text', text: '5' }] },
    })
    const pid = Number(textIn(log))
    await until('the server has ended', () => !isAlive(pid), { withinMs: PATIENCE_MS })
  })

  test('an HTTP server’s tools are called with the headers of the run’s owner and listed once', async () => {
    const { url, methods, headers } = await serveMcp()
    const servers = ({ owner }: { owner: string }): McpServers => ({ web: { url, headers: { 'x-owner': owner } } })
    const log = await logOf(mcp(servers), calling(['add', { a: 2, b: 3 }], ['add', { a: 1, b: 1 }]))
    expect(textIn(log)).toBe('2')
    expect(headers()['x-owner']).toBe('local')
    expect(methods.filter((method) => method === 'tools/list')).toHaveLength(1)
  })

  test('gets a tool’s error, and continues', async () => {
    const { url } = await serveMcp()
    const log = await logOf(mcp({ web: { url } }), calling(['fail'], ['add', { a: 1, b: 1 }]))
    const failed = log.find(({ type }) => type === 'tool.failed')!
    expect(failed.data).toMatchObject({ name: 'fail', error: { message: 'out of order' } })
    expect(textIn(log)).toBe('2')
  })

  test('gets an input error of the server and the end of its process, and continues with a new one', async () => {
    const log = await logOf(
      mcp({ calculator: overStdio }),
      calling(['add', { a: 'two' }], ['die'], ['add', { a: 20, b: 1 }]),
    )
    const problems = log.flatMap((event) => (event.type === 'tool.failed' ? [event.data.error.message] : []))
    expect(problems).toHaveLength(2)
    expect(problems[0]).toMatch(/number/)
    expect(textIn(log)).toBe('21')
  })

  test('holds no connection while it waits for a person, and reconnects', async () => {
    const ask = tool({ inputSchema: z.object({}), outputSchema: z.string() })
    const script = ({ turn, results }: ScriptedCall): ScriptedOutput => {
      if (turn === 2) return [{ type: 'tool', name: 'ask' }]
      if (turn < 4) return [{ type: 'tool', name: 'pid' }]
      return JSON.stringify(results.filter((result) => result.tool === 'pid').map(({ output }) => output))
    }
    const node = nodeWith([{ ask }, mcp({ calculator: overStdio }, { idleTimeoutMs: 20 })], script)
    const id = await node.start('subject', 'go')
    const { run } = await node.reached(id, 'paused', PATIENCE_MS)
    const completed = (await node.log(id)).find(({ type }) => type === 'tool.completed')!
    const { output } = completed.data as { output: { content: { text: string }[] } }
    const pid = Number(output.content[0]!.text)
    await until('the server has ended', () => !isAlive(pid), { withinMs: PATIENCE_MS })
    await node.answer(id, { [run.waiting![0]!.id]: 'yes' })
    const log = await node.ended(id, PATIENCE_MS)
    const [before, after] = JSON.parse(resultOf(log) as string) as unknown[]
    expect(after).not.toEqual(before)
  })
})

describe('MCP: tool names', { timeout: PATIENCE_MS }, () => {
  test('a name that several servers or the agent use is prefixed with the server', async () => {
    const [one, two] = [await serveMcp(), await serveMcp()]
    const add = tool({ inputSchema: z.object({}), execute: () => 'mine' })
    const log = await logOf([{ add }, mcp({ one: { url: one.url }, two: { url: two.url } })], ({ tools }) =>
      JSON.stringify(tools.toSorted()),
    )
    expect(JSON.parse(resultOf(log) as string)).toEqual([
      'add',
      'one_add',
      'one_die',
      'one_fail',
      'one_pid',
      'two_add',
      'two_die',
      'two_fail',
      'two_pid',
    ])
  })

  test('a name that is still ambiguous fails the run', async () => {
    const add = tool({ inputSchema: z.object({}), execute: () => 'mine' })
    expect(failureOf(await logOf([{ add }, { add }], () => 'x')).message).toBe(
      'two tools of the agent have the name add: rename one',
    )
  })
})

describe('MCP: an unusable server fails the run before the model is called', { timeout: PATIENCE_MS }, () => {
  test.each<[string, McpServer]>([
    ['because there is no such program', { command: 'holdfast-no-such-program' }],
    ['because the program ends', { command: process.execPath, args: ['-e', 'process.exit(1)'] }],
    ['because nobody listens', { url: 'http://127.0.0.1:9/mcp' }],
  ])('the server is unusable %s', async (_, server) => {
    const working = await serveMcp()
    const log = await logOf(mcp({ working: { url: working.url }, broken: server }), () => 'never')
    expect(failureOf(log)).toMatchObject({
      code: 'agent_failed',
      message: expect.stringMatching(/^the MCP server broken cannot be used: /) as string,
      retryable: true,
      details: { reason: 'mcp_unavailable', server: 'broken' },
    })
    expect(log.map(({ type }) => type)).not.toContain('model.requested')
  })

  test('a server that never becomes ready fails the run, and its process is ended', async () => {
    const file = join(temporaryFolder(), 'pid')
    const script = `fs.writeFileSync(${JSON.stringify(file)}, String(process.pid)); setInterval(() => {}, 1000)`
    const hanging = { command: process.execPath, args: ['-e', script] }
    const tools = mcp({ hanging }, { connectTimeoutMs: 4000 })
    expect(failureOf(await logOf(tools, () => 'never'))).toMatchObject({ details: { reason: 'mcp_unavailable' } })
    const pid = Number(readFileSync(file, 'utf8'))
    await until('the server has ended', () => !isAlive(pid), { withinMs: PATIENCE_MS })
  })
})

test('MCP: a call that times out fails, and the model gets the error', { timeout: PATIENCE_MS }, async () => {
  const { url } = await serveMcp(() => {
    const server = calculator()
    server.registerTool('sleep', { inputSchema: {} }, () => new Promise(() => {}))
    return server
  })
  const log = await logOf(mcp({ web: { url } }, { callTimeoutMs: 50 }), calling(['sleep']))
  expect(log.filter(({ type }) => type === 'tool.failed')).toHaveLength(1)
  expect(resultOf(log)).toMatch(/timed out/i)
})
