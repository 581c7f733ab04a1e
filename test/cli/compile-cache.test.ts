/** The compile cache is in a folder that only this user can write to. */
import { execFile } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import { temporaryFolder } from '../support/temporary.ts'

const main = join(import.meta.dirname, '../../src/cli/main.mjs')

/** The folder of the cache, after a command has been executed. */
async function cacheAfterCommand(caches: string): Promise<string> {
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const { stdout } = await promisify(execFile)(process.execPath, [main, '--version'], {
    env: { ...env, XDG_CACHE_HOME: caches, TMPDIR: join(caches, 'tmp') },
  })
  expect(stdout).toMatch(/\d+\.\d+\.\d+/)
  expect(existsSync(join(caches, 'tmp'))).toBe(false)
  return join(caches, 'holdfast', 'compile-cache')
}

test.skipIf(process.platform !== 'linux')('compiled code is kept in a folder of the user’s own', async () => {
  const cache = await cacheAfterCommand(temporaryFolder())
  expect(statSync(cache).mode & 0o777).toBe(0o700)
  expect(readdirSync(cache, { recursive: true }).length).toBeGreaterThan(5)
})

test.skipIf(process.platform !== 'linux')('a cache that others may write to is not used', async () => {
  const caches = temporaryFolder()
  const cache = join(caches, 'holdfast', 'compile-cache')
  mkdirSync(cache, { recursive: true })
  chmodSync(cache, 0o777)
  expect(await cacheAfterCommand(caches)).toBe(cache)
  expect(readdirSync(cache)).toEqual([])
})
