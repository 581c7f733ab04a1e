/** Help texts, and errors for wrong command lines. */
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { configOptions } from '../../src/server/config/config-options.ts'
import { catalogue } from '../../src/cli/catalogue.ts'
import { runCommand } from '../../src/cli/run-command.ts'
import { version } from '../../src/server/version.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { run } from './command-line.ts'

/** Runs in this process: these commands start nothing. */
async function call(...argv: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  let [stdout, stderr] = ['', '']
  const io = {
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
    env: {},
  }
  const code = await runCommand(argv, io)
  return { code, stdout, stderr }
}

describe('holdfast', () => {
  test.each([['--version'], ['-v']])('%s prints the version on a line of its own', async (flag) => {
    expect(await call(flag)).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
  })

  test.each([[], ['help'], ['--help'], ['-h']])('holdfast with %s lists all commands', async (...argv) => {
    const { code, stdout, stderr } = await call(...argv)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    for (const command of Object.keys(catalogue)) expect(stdout).toMatch(new RegExp(`^  ${command} +\\S`, 'm'))
  })

  test.each(['serv', 'toString', '__proto__', '', '--port'])(
    'rejects the unknown command %j and lists all commands',
    async (name) => {
      const { code, stdout, stderr } = await call(name)
      expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
      expect(stderr).toContain(`unknown command ${JSON.stringify(name)}`)
      expect(stderr).toContain('Usage: holdfast COMMAND')
    },
  )

  test('runs as a program and exits with the command’s exit code', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, stdout: `${version}\n`, stderr: '' })
    expect(await run(['nonsense'])).toMatchObject({ code: 2, stdout: '' })
  })
})

describe.each(['demo', 'serve'])('holdfast %s', (command) => {
  test.each(['--help', '-h'])('%s lists every option with its environment variable', async (flag) => {
    const { code, stdout, stderr } = await call(command, flag)
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain(`Usage: holdfast ${command}`)
    for (const [name, { env }] of Object.entries(configOptions)) {
      expect(stdout).toContain(`--${name}`)
      expect(stdout).toContain(env)
    }
  })

  test.each([
    [['--prot', '7'], 'unknown flag --prot: did you mean --port?'],
    [['--frobnicate'], 'unknown flag --frobnicate'],
    [['--port'], '--port needs a value'],
    [['--port', 'http'], '--port: "http" is not a port'],
    [['--port', '70000'], '--port'],
    [['--store', 'mysql://secret@host'], 'unsupported'],
    [['--store', 'somewhere'], '"somewhere" is not a store'],
    [['--host', '0.0.0.0'], 'can be reached by other machines and no authentication is configured'],
    [['--log-level', 'loud'], '--log-level'],
  ])('rejects %j with a one-line error', async (argv, expectedText) => {
    const { code, stdout, stderr } = await call(command, ...argv)
    expect(stdout).toBe('')
    expect(code).not.toBe(0)
    expect(stderr).toContain(expectedText)
    expect(stderr).not.toContain('secret')
    expect(stderr).not.toMatch(/^ {4}at /m)
    expect(stderr).toMatch(new RegExp(`^holdfast ${command}: [^\\n]+\\n`))
  })

  test('creates no file when the command line is invalid', async () => {
    const cwd = temporaryFolder()
    expect((await run([command, '--prot', '7'], { cwd })).code).toBe(2)
    expect((await run([command, 'a', 'b'], { cwd })).code).toBe(2)
    expect(readdirSync(cwd)).toEqual([])
  })
})

test('holdfast demo names the key file that does not exist', async () => {
  const { code, stderr } = await call('demo', '--auth-keys', '/nowhere/keys.json')
  expect(code).not.toBe(0)
  expect(stderr).toMatch(/^holdfast demo: .*\/nowhere\/keys\.json/)
})

test('holdfast demo rejects a file and names the command that serves files', async () => {
  const { code, stderr } = await call('demo', 'agents.ts')
  expect(code).toBe(2)
  expect(stderr).toContain('holdfast serve agents.ts')
})

test.each([[[]], [['a.ts', 'b.ts']]])('holdfast serve needs exactly one file: %j is rejected', async (files) => {
  const { code, stderr } = await call('serve', ...files)
  expect(code).toBe(2)
  expect(stderr).toContain('expected one file to serve')
  expect(stderr).toContain('Usage: holdfast serve FILE')
})

test('holdfast serve --env-file: a file that is not there is named, and its variables are checked like others', async () => {
  const { code, stderr } = await call('serve', 'agents.ts', '--env-file', 'nowhere.env')
  expect([code, stderr]).toEqual([2, expect.stringContaining('--env-file nowhere.env cannot be read: ENOENT')])
  expect((await call('serve', 'agents.ts', '--env-file')).stderr).toContain('--env-file needs a value')
  const file = join(temporaryFolder(), 'typo.env')
  onTestFinished(() => void delete process.env['HOLDFAST_PROT'])
  writeFileSync(file, 'HOLDFAST_PROT=1\n')
  expect((await call('serve', 'agents.ts', '--env-file', file)).stderr).toContain('did you mean HOLDFAST_PORT?')
})

test('config: an environment variable with a typo in its name is rejected, not ignored', async () => {
  const { code, stderr } = await run(['demo', '--port', '0', '--store', 'memory:'], { env: { HOLDFAST_AUTH_KEY: 'x' } })
  expect(code).toBe(2)
  expect(stderr).toContain('did you mean HOLDFAST_AUTH_KEYS?')
})
