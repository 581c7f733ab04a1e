import { spawnSync } from 'node:child_process'
import { readFileSync, realpathSync } from 'node:fs'
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
  ])('lets %s pass', (version) => {
    expect(checkNodeVersion(version)).toBeUndefined()
  })

  test.each(['22.17.1', '22.9.0', 'v20.20.2', '18.0.0', '9.99.0', '0.12.18', '', 'nonsense'])(
    'refuses %s',
    (version) => {
      expect(checkNodeVersion(version)).toBeDefined()
    },
  )

  test('says which one is needed, which one this is and where to get one', () => {
    expect(checkNodeVersion('20.20.2')).toBe(
      'holdfast needs Node 22.18 or newer; this is 20.20.2. Install a current version from https://nodejs.org.',
    )
  })

  test('asks for what package.json asks for', () => {
    const { engines } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    const needed = /Node (\S+) or newer/.exec(checkNodeVersion('0.0.0')!)?.[1]
    expect(engines.node).toBe(`>=${needed}`)
  })

  // What an old Node does with a file is decided by the extension that the link leads to.
  test.each(['main.ts', 'node-version.ts'])(
    'can be run from the sources by an old Node: %s is no TypeScript',
    (name) => {
      expect(realpathSync(fileURLToPath(new URL(name, import.meta.url)))).toMatch(/\.mjs$/)
    },
  )

  // The version is decided by the machine: where every Node is new enough, there is nothing to start.
  const old = olderNode()
  test.skipIf(old === undefined)('is what an old Node says of the sources, and it ends with 1', () => {
    const program = fileURLToPath(new URL('main.ts', import.meta.url))
    const { status, stdout, stderr } = spawnSync(old!.path, [program, 'demo'], { encoding: 'utf8', timeout: 10_000 })
    expect({ status, stdout, stderr }).toEqual({ status: 1, stdout: '', stderr: `${checkNodeVersion(old!.version)}\n` })
  })
})
