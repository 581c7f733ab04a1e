import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { olderNode } from '../../scripts/older-node.ts'
import { checkNodeVersion } from './node-version.ts'

describe('the check of the Node version', () => {
  test.each([
    '22.18.0',
    'v22.18.0',
    '22.19.1',
    '24.0.0',
    'v24.21.0',
    '100.0.0',
    '23.0.0-nightly20241015',
    '25.0.0-pre',
  ])('accepts %s', (version) => {
    expect(checkNodeVersion(version)).toBeUndefined()
  })

  test.each(['22.17.1', '22.9.0', 'v20.20.2', '18.0.0', '9.99.0', '0.12.18', '', 'nonsense'])(
    'rejects %s',
    (version) => {
      expect(checkNodeVersion(version)).toBeDefined()
    },
  )

  test('names the required version, this version and where to get it', () => {
    expect(checkNodeVersion('20.20.2')).toBe(
      'holdfast needs Node 22.18 or newer; this is 20.20.2. Install a current version from https://nodejs.org.',
    )
  })

  test('requires what package.json requires', () => {
    const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    const needed = /Node (\S+) or newer/.exec(checkNodeVersion('0.0.0')!)?.[1]
    expect(engines.node).toBe(`>=${needed}`)
  })

  // An old Node strips no types; neither does any Node from a data: URL.
  test('is JavaScript without types, so that main.mjs can load it on an old Node', async () => {
    const source = readFileSync(new URL('node-version.ts', import.meta.url), 'utf8')
    const load = `const { checkNodeVersion } = await import(process.argv[1]); console.log(checkNodeVersion('20.20.2'))`
    const url = `data:text/javascript,${encodeURIComponent(source)}`
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', load, url], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    expect({ stdout, stderr }).toEqual({ stdout: `${checkNodeVersion('20.20.2')}\n`, stderr: '' })
  })

  test.each(['main.mjs', 'main.ts'])('lets this Node start a command from the sources by %s', (name) => {
    const program = fileURLToPath(new URL(name, import.meta.url))
    const { status, stdout } = spawnSync(process.execPath, [program, '--version'], {
      encoding: 'utf8',
      timeout: 60_000,
    })
    expect({ status, stdout }).toEqual({ status: 0, stdout: expect.stringMatching(/\d+\.\d+\.\d+/) as string })
  })

  test('the sources have no symbolic links, which not every checkout supports', () => {
    const links = readdirSync(new URL('../', import.meta.url), { recursive: true, withFileTypes: true })
    expect(links.filter((entry) => entry.isSymbolicLink()).map(({ name }) => name)).toEqual([])
  })

  // The version is decided by the machine: where every Node is new enough, there is nothing to start.
  const old = olderNode()
  test.skipIf(old === undefined)('is what an old Node prints for the sources, and it exits with 1', () => {
    const program = fileURLToPath(new URL('main.mjs', import.meta.url))
    const { status, stdout, stderr } = spawnSync(old!.path, [program, 'demo'], { encoding: 'utf8', timeout: 10_000 })
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: `${checkNodeVersion(old!.version)}\n` })
  })
})
