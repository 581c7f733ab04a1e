/** Commands about runs in a pipe: the output that scripts can rely on. */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { agent } from '../../src/index.ts'
import { getRun, readEvents, startRun, untilFinished, untilStatus } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { callWith, type Caller, NOBODY } from './called.ts'
import { CommandLine, root } from './command-line.ts'

async function lab(): Promise<{ readonly url: string; readonly call: Caller }> {
  const { url } = await serveInProcess()
  return { url, call: callWith({ HOLDFAST_URL: url }) }
}

function idIn(text: string): string {
  return /run_[0-9a-z]{26}/.exec(text)![0]
}

describe('holdfast run in a pipe', () => {
  test('writes the text to standard output and everything else as plain lines to standard error', async () => {
    const { call } = await lab()
    const { code, stdout, stderr } = await call('run', 'lab', 'say one; tool search; step prepare; say  two')
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'onetwo\n' })
    expect(stderr.replaceAll(/\d+\.\ds/g, 'N.Ns')).toBe(
      `run ${idIn(stderr)}\n✓ search {"number":0} N.Ns → {"tool":"search","number":0}\n✓ prepare N.Ns\n✓ completed after N.Ns\n`,
    )
  })

  test('prints the output of a run without text', async () => {
    const { url } = await serveInProcess({
      components: [
        agent({
          id: 'quiet',
          async *run() {
            return { answer: 42 }
          },
        }),
      ],
    })
    const { stdout } = await callWith({})('run', 'quiet', 'x', '--url', url)
    expect(JSON.parse(stdout)).toEqual({ answer: 42 })
  })

  test('run --json prints every event of the log as a line, and nothing else', async () => {
    const { call, url } = await lab()
    const { code, stdout, stderr } = await call('run', 'lab', 'text 3; tool search', '--json')
    expect(code).toBe(0)
    const events = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown)
    expect(events).toEqual(await readEvents({ url }, idIn(stderr)))
  })

  test.each([
    ['say hi', 0, /✓ completed after/],
    ['throw boom', 3, /✗ failed after .*: agent_failed: boom/],
    ['reject not this', 5, /■ rejected after .*: not this/],
    ['ask Shall I?', 6, /\? Shall I\? \(question\)\n {2}Answer with: {2}holdfast answer run_\w+ "your answer"/],
  ])('[RUN-3] exits for %j with %i', async (input, expected, expectedText) => {
    const { call } = await lab()
    const { code, stderr } = await call('run', 'lab', input)
    expect(stderr).toMatch(expectedText)
    expect(code).toBe(expected)
  })

  test('parses objects, arrays and booleans as JSON, everything else as text', async () => {
    const echo = agent({
      id: 'echo',
      async *run(input) {
        return { type: typeof input, input }
      },
    })
    const { url } = await serveInProcess({ components: [echo] })
    const call = callWith({ HOLDFAST_URL: url })
    for (const [given, type] of [
      ['{"a":1}', 'object'],
      ['[1]', 'object'],
      ['true', 'boolean'],
      ['42', 'string'],
      ['true story', 'string'],
    ] as const)
      expect(JSON.parse((await call('run', 'echo', given)).stdout)).toMatchObject({ type })
    expect(JSON.parse((await call('run', 'echo', '{"a":1}', '--text')).stdout)).toEqual({
      type: 'string',
      input: '{"a":1}',
    })
    expect(await call('run', 'echo', '{oops')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('pass it as text with --text') as string,
    })
  })

  test('run --detach starts the run and prints its id', async () => {
    const { call, url } = await lab()
    const { code, stdout } = await call('run', 'lab', 'say hi', '--detach', '--session', 'mine')
    expect(code).toBe(0)
    expect(await untilFinished({ url }, stdout.trim())).toMatchObject({ status: 'completed', session: 'mine' })
  })

  test('lists the components if the named one does not exist', async () => {
    const { call } = await lab()
    expect(await call('run', 'lap', 'x')).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/unknown component "lap": the server has lab, lab-retry/) as string,
    })
  })

  test('[RUN-2] leaves the run running when the command is killed', async () => {
    const { url } = await lab()
    const program = new CommandLine(['run', 'lab', 'text 5; hang'], { env: { HOLDFAST_URL: url } })
    await expect.poll(() => program.stdout, { timeout: 20_000 }).toContain('[4]')
    program.kill('SIGTERM')
    await program.ended()
    const [run] = (await callWith({ HOLDFAST_URL: url })('runs', '--json')).stdout.split('\n')
    expect(JSON.parse(run!)).toMatchObject({ status: 'running' })
  })
})

test('[RUN-2] holdfast run: a closed pipe ends the command, not the run', async () => {
  const { url } = await lab()
  const program = `'${process.execPath}' '${join(root, 'src/cli/main.ts')}' run lab 'text 100000 every 5' | head -c 5; echo " $PIPESTATUS"`
  const { stdout } = await promisify(execFile)('bash', ['-c', program], { env: { ...process.env, HOLDFAST_URL: url } })
  expect(stdout).toBe('[0] k 141\n')
  expect((await callWith({ HOLDFAST_URL: url })('runs')).stdout).toMatch(/lab +running/)
})

test('holdfast run prints how to answer for open questions only, not for answered ones', async () => {
  const { call, url } = await lab()
  const { id } = await startRun({ url }, 'ask First?; ask Second?')
  await untilStatus({ url }, id, ['paused'])
  const { code, stderr } = await call('answer', id, 'yes', '--follow')
  expect(code).toBe(6)
  expect(stderr).toContain('? Second?')
  const tail = await call('tail', id)
  expect(tail.code).toBe(6)
  expect(tail.stderr).toMatch(/\? First\?.*\n· answered\n\? Second\?.*\n {2}Answer with:.*\n$/)
})

describe('holdfast runs', () => {
  test('runs --version lists runs that this version of their component executed last', async () => {
    const versioned = (id: string, version?: string) =>
      agent({
        id,
        ...(version !== undefined && { version }),
        async *run() {
          yield 'done'
        },
      })
    const { url } = await serveInProcess({ components: [versioned('a', '1.0'), versioned('b', '2.0'), versioned('c')] })
    const call = callWith({ HOLDFAST_URL: url })
    for (const component of ['a', 'b', 'c', 'b']) await call('run', component, 'x')
    const { stdout } = await call('runs', '--version', '2.0')
    expect(stdout.match(/[abc](@\S+)?(?= +completed)/g)).toEqual(['b@2.0', 'b@2.0'])
    expect(
      (await call('runs', '--version', '2.0', '--limit', '1', '--json')).stdout.trimEnd().split('\n'),
    ).toHaveLength(1)
    const page = (await (await fetch(`${url}/runs?version=1.0&limit=1`)).json()) as { runs: { component: string }[] }
    expect(page.runs.map(({ component }) => component)).toEqual(['a'])
    expect((await call('runs', '--version', '3.0')).stderr).toContain('No runs found')
    const answer = await fetch(`${url}/components`)
    const { components } = (await answer.json()) as { components: { id: string; version?: string }[] }
    expect(components.map(({ id, version }) => [id, version])).toEqual([
      ['a', '1.0'],
      ['b', '2.0'],
      ['c', undefined],
    ])
  })

  test('lists the newest first and filters by component, session and status', async () => {
    const { call, url } = await lab()
    const first = await startRun({ url }, 'say hi', { session: 'one' })
    const second = await startRun({ url }, 'throw boom', { session: 'two', component: 'lab-retry' })
    await untilFinished({ url }, first.id)
    await untilFinished({ url }, second.id)
    const ids = async (...argv: string[]): Promise<string[]> =>
      (await call('runs', ...argv)).stdout.match(/run_[0-9a-z]{26}/g) ?? []
    expect(await ids()).toEqual([second.id, first.id])
    expect(await ids('--component', 'lab')).toEqual([first.id])
    expect(await ids('--session', 'two')).toEqual([second.id])
    expect(await ids('--status', 'completed,cancelled')).toEqual([first.id])
    expect(await ids('--limit', '1')).toEqual([second.id])
    expect((await call('runs')).stdout).toMatch(
      /^RUN +COMPONENT +STATUS +STARTED +TOOK +EVENTS\n\S+ +lab-retry +failed .*agent_failed: boom\n/,
    )
    expect(await call('runs', '--status', 'paused')).toMatchObject({
      code: 0,
      stdout: '',
      stderr: expect.stringContaining('No runs found') as string,
    })
    expect(await call('runs', '--status', 'broken')).toMatchObject({ code: 2 })
  })
})

describe('holdfast show', () => {
  test('prints a run’s input, work, text and outcome', async () => {
    const { call, url } = await lab()
    const { id } = await startRun({ url }, 'say hello; tool search; throw boom')
    await untilFinished({ url }, id)
    const { code, stdout } = await call('show', id)
    expect(code).toBe(0)
    for (const expectedText of [
      `Run        ${id}`,
      'Status     failed',
      'Error      agent_failed: boom',
      'Input\nsay hello; tool search; throw boom\n',
      '✓ search',
      'Text\nhello\n',
    ])
      expect(stdout).toContain(expectedText)
    expect(JSON.parse((await call('show', id, '--json')).stdout)).toEqual(await getRun({ url }, id))
  })

  test('does not wait for an unfinished run, and prints its open questions', async () => {
    const { call, url } = await lab()
    const { id } = await startRun({ url }, 'say hello; ask Shall I?')
    await untilStatus({ url }, id, ['paused'])
    const { stdout } = await call('show', id)
    expect(stdout.match(/\? Shall I\?/g)).toHaveLength(1)
    expect(stdout).toContain(`Answer with:  holdfast answer ${id} ANSWER\n`)
  })
})

describe('holdfast answer', () => {
  test('answers a question, and with --follow prints the rest of the run', async () => {
    const { call, url } = await lab()
    const [first, second] = [
      await startRun({ url }, 'ask Sure?; say on'),
      await startRun({ url }, 'ask Sure?; say on; throw boom'),
    ]
    for (const { id } of [first, second]) await untilStatus({ url }, id, ['paused'])
    expect(await call('answer', first.id, 'yes')).toMatchObject({ code: 0, stdout: `${first.id} continues\n` })
    expect(await untilFinished({ url }, first.id)).toMatchObject({ status: 'completed' })
    expect(await call('answer', second.id, 'yes', '--follow')).toMatchObject({ code: 3, stdout: 'on\n' })
    expect(await call('answer', second.id, 'again')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('it has no open question') as string,
    })
  })
})

describe('holdfast stop', () => {
  test('[RUN-2] stops a run with a reason, and leaves a finished run unchanged', async () => {
    const { call, url } = await lab()
    const { id } = await startRun({ url }, 'hang')
    expect(await call('stop', id, '--reason', 'enough')).toMatchObject({ code: 0, stdout: `${id} was stopped\n` })
    expect(await getRun({ url }, id)).toMatchObject({ status: 'cancelled', reason: 'enough' })
    const done = await startRun({ url }, 'say hi')
    await untilFinished({ url }, done.id)
    expect(await call('stop', done.id)).toMatchObject({
      code: 0,
      stdout: `${done.id} had already finished: completed\n`,
    })
  })
})

describe('holdfast tail', () => {
  test('[SUB-2] starts after the given cursor', async () => {
    const { call, url } = await lab()
    const { id } = await startRun({ url }, 'text 5')
    await untilFinished({ url }, id)
    const all = await readEvents({ url }, id)
    const { code, stdout } = await call('tail', id, '--json', '--after', '3')
    expect(code).toBe(0)
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line) as unknown),
    ).toEqual(all.slice(4))
    expect(await call('tail', id, '--after', '99')).toMatchObject({ code: 1 })
  })
})

describe('CLI errors say what happened, which value, and what to do next', () => {
  test('a command on a run that does not exist suggests holdfast runs', async () => {
    const { call } = await lab()
    for (const command of [
      ['show', 'run_x'],
      ['tail', 'run_x'],
      ['stop', 'run_x'],
      ['replay', 'run_x'],
      ['export', 'run_x'],
      ['answer', 'run_x', 'y'],
    ]) {
      const { code, stderr } = await call(...command)
      expect(code, command[0]).toBe(1)
      expect(stderr).toMatch(
        /^holdfast \w+: there is no run run_x at \S+, or it belongs to another principal: list runs with {2}holdfast runs\n$/,
      )
    }
  })

  test('a command to an unreachable server names its URL', async () => {
    const { code, stderr } = await callWith({})('runs', '--url', 'http://127.0.0.1:7')
    expect({ code, stderr }).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^holdfast runs: http:\/\/127\.0\.0\.1:7 is not a reachable Holdfast server/,
      ) as string,
    })
  })

  test('[SEC-1] a command to a server that requires a key asks for --key or HOLDFAST_KEY', async () => {
    const { url } = await serveInProcess({
      auth: { securityKey: 'sesame-sesame-sesame' },
    })
    const call = callWith({ HOLDFAST_URL: url })
    expect((await call('runs')).stderr).toContain('requires authentication: pass a key with --key or HOLDFAST_KEY')
    expect((await call('runs', '--key', 'wrong')).stderr).toContain('the key is not valid there')
    expect(await call('run', 'lab', 'say hi', '--key', 'sesame-sesame-sesame')).toMatchObject({
      code: 0,
      stdout: 'hi\n',
    })
  })

  test.each([
    [['run'], 'COMPONENT is missing: expected COMPONENT INPUT'],
    [['run', 'lab'], 'INPUT is missing'],
    [['run', 'lab', 'two', 'words'], 'unexpected "words"'],
    [['tail', 'x', '--afer', '1'], 'did you mean --after?'],
    [['replay', 'x', '--speed', 'fast'], '"fast" is not a speed'],
    [['completion', 'tcsh'], '"tcsh" is not a supported shell: use bash, zsh, fish'],
    [['gc'], 'nothing to do: pass --retain 30d'],
  ])('the invalid command line %j exits with 2', async (argv, expectedText) => {
    const { code, stdout, stderr } = await callWith(NOBODY)(...argv)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toContain(expectedText)
  })
})
