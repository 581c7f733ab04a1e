/** Programs as components: real children, in Python and in Node. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { answered, answeredElsewhere, dataOf, logOf, PATIENCE_MS } from '../../../test/support/adapters.ts'
import { openNode, textOf, typesOf } from '../../../test/support/node.ts'
import { temporaryFolder } from '../../../test/support/temporary.ts'
import { until } from '../../../test/support/until.ts'
import { World } from '../../../test/support/world.ts'
import type { Component } from '../../core/ports/component.ts'
import type { Failure } from '../../core/model/event.ts'
import { fromJsonSchema } from '../../core/schema/json-schema.ts'
import { processAgent, type ProcessAgentDefinition } from './agent.ts'
import { inheritedNames } from './environment.ts'
import { writeLine } from './write-line.ts'

const PRELUDE = `
import json, os, signal, sys, time
def say(**message): print(json.dumps(message), flush=True)
def hear(): return json.loads(sys.stdin.readline())
start = hear()
`

function python(program: string, more: Partial<ProcessAgentDefinition> = {}): Component {
  return processAgent({ id: 'subject', command: 'python3', args: ['-c', PRELUDE + program], ...more })
}

function node(program: string, more: Partial<ProcessAgentDefinition> = {}): Component {
  return processAgent({ id: 'subject', command: process.execPath, args: ['-e', program], ...more })
}

async function failureOf(component: Component): Promise<Failure> {
  return dataOf(await logOf(component), 'run.failed')[0]!.error
}

test('process agent: `output` may be a schema, which the result of a program that prints JSON lines must fit', async () => {
  const output = fromJsonSchema({ type: 'object', required: ['days'] })
  const printing = (result: object): Component =>
    node(`console.log(${JSON.stringify(JSON.stringify({ type: 'result', output: result }))})`, { output })
  expect(dataOf(await logOf(printing({ days: 3 })), 'run.completed')[0]?.output).toEqual({ days: 3 })
  expect((await failureOf(printing({}))).code).toBe('invalid_output')
  expect(() => node('', { output: 'json' as never })).toThrow('output')
})

describe('process agent: plain text', () => {
  const cat = (more: Partial<ProcessAgentDefinition>): Component =>
    processAgent({ id: 'subject', command: 'cat', output: 'text', ...more })

  test('a program that knows nothing of Holdfast reads the input and prints the answer', async () => {
    const log = await logOf(cat({ command: 'tr', args: ['a-z', 'A-Z'] }), 'hello, sea')
    expect(textOf(log)).toBe('HELLO, SEA')
    expect(log.at(-1)?.type).toBe('run.completed')
  })

  test('an input that is not text arrives as JSON', async () => {
    expect(textOf(await logOf(cat({}), { order: [7] }))).toBe('{"order":[7]}')
  })

  test('output arrives while the program runs, whole characters only', async () => {
    const program = `process.stdout.write(Buffer.from([0x61, 0xc3])); process.stdin.once('data', () => process.stdout.write(Buffer.from([0xa9, 0x62])))`
    const log = await logOf(node(program, { output: 'text' }), 'go')
    expect(textOf(log)).toBe('aéb')
  })

  test('an exit code other than 0 fails the run, after what was printed [RUN-3]', async () => {
    const log = await logOf(node(`process.stdout.write('half'); process.exitCode = 3`, { output: 'text' }))
    expect(textOf(log)).toBe('half')
    expect(dataOf(log, 'run.failed')[0]?.error).toMatchObject({
      code: 'agent_failed',
      message: 'the process exited with code 3',
      details: { exitCode: 3 },
    })
  })

  test('output that is not UTF-8 fails the run', async () => {
    const failure = await failureOf(node(`process.stdout.write(Buffer.from([0xff]))`, { output: 'text' }))
    expect(failure).toMatchObject({ code: 'protocol_violation', message: 'the output is not UTF-8' })
  })

  test('a large input reaches a program that reads slowly', async () => {
    const input = 'x'.repeat(1_000_000)
    expect(textOf(await logOf(cat({ command: 'wc', args: ['-c'] }), input)).trim()).toBe('1000000')
  })
})

describe('process agent: output', () => {
  test('a Python process emits text, events and a result', async () => {
    const log = await logOf(
      python(`
say(text="Good ")
say(type="tool.called", data={"call": "1", "name": "look", "input": {}})
say(type="tool.completed", data={"call": "1", "name": "look", "output": 3})
say(text="day, " + start["input"])
say(type="result", output={"session": start["session"], "attempt": start["attempt"]}, usage={"totalTokens": 7})
`),
      'Ada',
    )
    expect(textOf(log)).toBe('Good day, Ada')
    expect(dataOf(log, 'tool.completed')).toEqual([{ call: '1', name: 'look', output: 3 }])
    const { session } = dataOf(log, 'run.created')[0]!
    expect(dataOf(log, 'run.completed')).toEqual([{ output: { session, attempt: 1 }, usage: { totalTokens: 7 } }])
  })

  test('a Node process emits the same lines, cut anywhere, with any line ending', async () => {
    // Two writes some time apart mostly are two reads; the log is the same if they are one.
    const program = `process.stdout.write('{"text":"é'); setTimeout(() => process.stdout.write('t\\u00e9"}\\r\\n\\n{"type":"result"}'), 20)`
    const log = await logOf(node(program))
    expect(textOf(log)).toBe('été')
    expect(log.at(-1)?.type).toBe('run.completed')
  })

  test.each([
    [true, 'lab run_1: \u{fffd}]0;title\u{fffd}\u{fffd}[2Jtext\n'],
    [false, 'lab run_1: \u001b]0;title\u0007\u001b[2Jtext\n'],
  ])('stderr cannot control the terminal (terminal: %j)', (isTTY, expected) => {
    const written: string[] = []
    const output = { isTTY, write: (text: string | Uint8Array) => written.push(String(text)) > 0 }
    writeLine(output, 'lab run_1: \u001b]0;title\u0007\u001b[2Jtext')
    expect(written).toEqual([expected])
  })

  test('stderr is passed on and is not in the log', async () => {
    const lines: string[] = []
    const program = `sys.stderr.write("one\\ntwo"); sys.stderr.flush(); say(type="result")`
    const log = await logOf(python(program, { stderr: (line) => lines.push(line) }))
    await until('both lines were passed on', () => lines.length === 2)
    expect(lines).toEqual(['one', 'two'])
    expect(JSON.stringify(log)).not.toContain('two')
  })

  test('[SEC-2] processAgent: without env a child gets no variable of the server beyond those that programs need', async () => {
    process.env['HOLDFAST_TEST_SECRET'] = 'server-master-key'
    onTestFinished(() => void delete process.env['HOLDFAST_TEST_SECRET'])
    const program = `console.log(JSON.stringify({ type: 'result', output: Object.keys(process.env) }))`
    const namesOf = async (more: Partial<ProcessAgentDefinition>): Promise<unknown> =>
      dataOf(await logOf(node(program, more)), 'run.completed')[0]!.output
    const inherited = (await namesOf({})) as string[]
    expect(inherited).toContain('PATH')
    expect(inherited.filter((name) => !inheritedNames.has(name))).toEqual([])
    expect(await namesOf({ env: { ...process.env } })).toContain('HOLDFAST_TEST_SECRET')
    expect(await namesOf({ env: { ONLY: 'this' } })).toContain('ONLY')
  })

  test('output larger than a pipe is read with backpressure from the log', async () => {
    const log = await logOf(python(`for n in range(20000): say(text="0123456789" * 4)\nsay(type="result")`))
    expect(textOf(log)).toHaveLength(800_000)
  })
})

describe('process agent: questions', () => {
  const program = `
say(text="Who? ")
say(type="ask", id="who", prompt="Your name?", kind="input", schema={"type": "string"})
answer = hear()
say(text="Hello " + answer["answer"])
say(type="result", output=answer)
`

  test('are asked, and answered on standard input', async () => {
    const log = await answered(python(program), 'Ada')
    expect(dataOf(log, 'run.paused')[0]!.questions).toMatchObject([
      { kind: 'input', prompt: 'Your name?', schema: { type: 'string' } },
    ])
    expect(dataOf(log, 'run.completed')).toMatchObject([{ output: { type: 'answer', id: 'who', answer: 'Ada' } }])
  })

  test('[RUN-1] survive the server: a restarted program repeats its output, and gets the answer', async () => {
    const log = await answeredElsewhere(() => python(program), 'Ada')
    expect(textOf(log)).toBe('Who? Hello Ada')
    expect(typesOf(log)).not.toContain('attempt.discarded')
  })
})

describe('[RUN-3] process agent: failures of the program', () => {
  test.for([
    ['exits with a code', 'sys.exit(3)', 'agent_failed', 'exited with code 3 without a result'],
    ['is killed', 'os.kill(os.getpid(), signal.SIGKILL)', 'agent_failed', 'killed by SIGKILL without a result'],
    ['ends without a result', 'say(text="hm")', 'agent_failed', 'exited with code 0 without a result'],
    [
      'gives a result and fails',
      'say(type="result"); sys.exit(1)',
      'agent_failed',
      'exited with code 1 after its result',
    ],
    ['says an error', 'say(type="error", code="quota", message="no more")', 'quota', 'no more'],
    ['writes what is not JSON', 'print("Traceback", flush=True); time.sleep(60)', 'protocol_violation', 'is not JSON'],
    ['writes no object', 'print("[1]", flush=True); time.sleep(60)', 'protocol_violation', 'not a JSON object'],
    ['writes an unknown type', 'say(type="nonsense")', 'protocol_violation', 'unknown type'],
    ['writes an outcome as an event', 'say(type="run.completed", data={})', 'protocol_violation', 'unknown type'],
    [
      'writes an event that is wrong',
      'say(type="text.delta", data={"text": 5})',
      'protocol_violation',
      'must be a string',
    ],
    ['writes no text', 'os.write(1, b"\\xff\\xfe\\n"); time.sleep(60)', 'protocol_violation', 'not UTF-8'],
    [
      'writes a line that is too long',
      'say(text="x" * 5000); time.sleep(60)',
      'protocol_violation',
      'longer than 4096 bytes',
    ],
    ['asks for nothing', 'say(type="ask"); time.sleep(60)', 'protocol_violation', 'without a `prompt`'],
  ] as const)('a program that %s fails the run', async ([, program, code, message]) => {
    const failure = await failureOf(python(program, { maxLineBytes: 4096, graceMs: 20_000 }))
    expect(failure.code).toBe(code)
    expect(failure.message).toContain(message)
  })

  test('a program that does not exist fails the run', async () => {
    const failure = await failureOf(processAgent({ id: 'subject', command: '/nowhere/program' }))
    expect(failure).toMatchObject({ code: 'unsupported', message: 'the process could not be started: ENOENT' })
  })

  test('a program that rejects ends the run as rejected', async () => {
    const log = await logOf(python('say(type="reject", reason="not today")'))
    expect(dataOf(log, 'run.rejected')).toEqual([{ reason: 'not today' }])
  })
})

const ends = [
  ['fail', ['run.failed', 'interrupted'], 'half '],
  ['resume', ['run.completed', undefined], 'half done'],
] as const

describe('process agent: ending', () => {
  test('a program that continues after its result is ended, and its result counts', async () => {
    const log = await logOf(python('say(type="result", output=1); time.sleep(600)', { graceMs: 100 }))
    expect(dataOf(log, 'run.completed')).toEqual([{ output: 1 }])
  })

  test.for([
    ['obeys', 'signal.SIG_DFL', 60_000],
    ['ignores SIGTERM', 'signal.SIG_IGN', 100],
  ] as const)('[RUN-2] a stop ends a program that %s', async ([, handler, graceMs]) => {
    const program = `signal.signal(signal.SIGTERM, ${handler}); say(text=str(os.getpid())); time.sleep(600)`
    const component = python(program, { graceMs, limits: { stopGraceMs: 10_000 } })
    const running = openNode({ components: [component] })
    const id = await running.start('subject')
    const pid = Number(textOf(await running.emitted(id, 'text.delta')))
    await running.stop(id)
    expect((await running.ended(id, PATIENCE_MS)).at(-1)?.type).toBe('run.cancelled')
    await until('the program is gone', () => !existsSync(`/proc/${pid}`))
  })

  test('[RUN-1] a run whose server died fails, or restarts if configured', async () => {
    for (const [recovery, end, scripted] of ends) {
      const count = join(temporaryFolder(), 'count')
      const program = `
with open(${JSON.stringify(count)}, "a") as file: file.write("x")
say(text="half ")
if start["attempt"] == 1: time.sleep(600)
say(text="done")
say(type="result")
`
      const world = new World(python(program, { recovery, graceMs: 100 }))
      const id = await world.orphan(1)
      const log = await world.worker().ended(id, PATIENCE_MS)
      expect([log.at(-1)?.type, dataOf(log, 'run.failed')[0]?.error.code]).toEqual(end)
      expect(textOf(log)).toContain(scripted)
      expect(readFileSync(count, 'utf8')).toBe(recovery === 'fail' ? 'x' : 'xx')
    }
  })
})
