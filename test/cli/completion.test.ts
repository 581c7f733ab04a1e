/** Completion, in the shells themselves. */
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { beforeAll, describe, expect, test } from 'vitest'
import { catalogue } from '../../src/cli/catalogue.ts'
import { ensureAptPackage, INSTALL_MS } from '../support/apt.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { callWith } from './called.ts'
import { ensureTmux, Terminal } from './terminal.ts'

const execute = promisify(execFile)

async function scriptFor(shell: string): Promise<string> {
  const { code, stdout } = await callWith({})('completion', shell)
  expect(code).toBe(0)
  const path = join(temporaryFolder(), `completion.${shell}`)
  writeFileSync(path, stdout)
  return path
}

beforeAll(async () => {
  await ensureTmux()
  await ensureAptPackage('zsh', '/usr/bin/zsh')
  await ensureAptPackage('fish', '/usr/bin/fish')
}, 3 * INSTALL_MS)

describe('bash completion', () => {
  async function completed(...words: string[]): Promise<string[]> {
    const program = `source "$1"; shift; COMP_WORDS=(holdfast "$@"); COMP_CWORD=$#; _holdfast; printf '%s\\n' "\${COMPREPLY[@]}"`
    const { stdout } = await execute('bash', ['-c', program, 'bash', await scriptFor('bash'), ...words])
    return stdout.split('\n').filter((word) => word !== '')
  }

  test('completes commands, their options, and files', async () => {
    expect(await completed('')).toEqual([...Object.keys(catalogue), 'help', '--help', '--version'])
    expect(await completed('ru')).toEqual(['run', 'runs'])
    for (const [name, { load }] of Object.entries(catalogue)) {
      const flags = Object.keys((await load()).options).map((flag) => `--${flag}`)
      expect(new Set(await completed(name, '--'))).toEqual(new Set([...flags, '--help']))
    }
    expect(await completed('serve', join(import.meta.dirname, 'completion.te'))).toEqual([import.meta.filename])
    expect(await completed('serve', '--auth-keys', join(import.meta.dirname, 'completion.te'))).toEqual([
      import.meta.filename,
    ])
    expect(await completed('serve', '--port', '')).toEqual([])
  })

  test('completes when Tab is pressed', async () => {
    const terminal = await Terminal.open()
    await terminal.type(`source ${await scriptFor('bash')}; clear`)
    await terminal.shows(/^\$$/)
    await terminal.press('-l', 'holdfast comp')
    await terminal.press('Tab')
    expect(await terminal.shows(/^\$ holdfast completion/)).toBeTruthy()
  })
})

test('zsh completion: commands and options are completed when Tab is pressed', async () => {
  const terminal = await Terminal.open({ shell: ['zsh', '-f'] })
  await terminal.type(`autoload -Uz compinit; compinit -u -D; source ${await scriptFor('zsh')}; clear`)
  await terminal.shows(/^\$$/)
  await terminal.press('-l', 'holdfast comp')
  await terminal.press('Tab')
  expect(await terminal.shows(/^\$ holdfast completion/)).toBeTruthy()
  await terminal.press('C-u')
  await terminal.press('-l', 'holdfast tail --af')
  await terminal.press('Tab')
  expect(await terminal.shows(/^\$ holdfast tail --after/)).toBeTruthy()
})

test('fish completion: commands and options are completed', async () => {
  const script = await scriptFor('fish')
  const completed = async (line: string): Promise<string[]> => {
    const { stdout } = await execute('fish', ['-c', `source ${script}; complete -C '${line}'`], {
      env: { ...process.env, HOME: temporaryFolder() },
    })
    return stdout.split('\n').filter((word) => word !== '')
  }
  expect(await completed('holdfast ru')).toEqual([
    `run\t${catalogue['run']!.summary}`,
    `runs\t${catalogue['runs']!.summary}`,
  ])
  expect(await completed('holdfast tail --af')).toEqual([
    '--after\tCursor: index of the last event that you have. Default: from the beginning.',
  ])
})
