import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openKeyAuthenticator } from '../../server/auth/api-keys.ts'
import { keys } from './keys.ts'

let folder: string
let path: string

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'holdfast-cli-keys-'))
  path = join(folder, 'keys.json')
})

afterEach(() => rm(folder, { recursive: true, force: true }))

/** Runs the command as the shell would, on the file of this test. */
async function run(...argv: readonly string[]) {
  let stdout = ''
  let stderr = ''
  const code = await keys(argv, {
    stdout: { write: (text: string) => void (stdout += text) },
    stderr: { write: (text: string) => void (stderr += text) },
    env: { HOLDFAST_AUTH_KEYS: path },
  })
  return { code, stdout, stderr }
}

describe('holdfast keys', () => {
  test('creates a key that works, and prints it alone on standard output', async () => {
    const { code, stdout, stderr } = await run('create', 'ci', '--principal', 'alice', '--tenant', 'acme')
    expect(code).toBe(0)
    expect(stdout).toMatch(/^hf_\w+\n$/)
    expect(stderr).toContain('for the principal alice of acme')
    expect(stderr).toContain(`--auth-keys ${path}`)
    expect(stderr).not.toContain(stdout.trim())
    const authenticator = await openKeyAuthenticator(path)
    expect(await authenticator.authenticate({ bearer: stdout.trim() })).toMatchObject({
      id: 'alice',
      tenant: 'acme',
      name: 'ci',
    })
  })

  test('revokes a key by name or id, so that it no longer works', async () => {
    const created = [await run('create', 'one'), await run('create', 'two')].map(({ stdout }) => stdout.trim())
    expect(await run('revoke', 'one')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^Revoked the key "one"/) as string,
    })
    expect(await run('revoke', created[1]!.split('_')[1]!)).toMatchObject({ code: 0 })
    const again = await run('revoke', 'one')
    expect(again.code).toBe(0)
    expect(again.stdout).toMatch(/Nothing to do: the key "one" .* was revoked at 20/)
    const authenticator = await openKeyAuthenticator(path)
    for (const bearer of created) {
      await expect(authenticator.authenticate({ bearer })).rejects.toMatchObject({ code: 'unauthenticated' })
    }
  })

  test('creates a key with scopes and an expiry, and lists both', async () => {
    const created = await run('create', 'viewer', '--scopes', 'runs:read,component:lab', '--expires', '90d')
    expect(created).toMatchObject({ code: 0, stderr: expect.stringContaining('runs:read, component:lab') as string })
    expect((await run('list')).stdout).toMatch(
      /viewer +\w+ +key:viewer +runs:read,component:lab +\S+ +- +active until 20/,
    )
    for (const wrong of [
      ['--scopes', 'reading'],
      ['--expires', '0'],
      ['--expires', 'soon'],
    ])
      expect(await run('create', 'other', ...wrong)).toMatchObject({ code: 2, stdout: '' })
  })

  test('lists keys without anything usable as one', async () => {
    const { stdout: key } = await run('create', 'ci')
    await run('create', 'gone')
    await run('revoke', 'gone')
    const [head, first, second] = (await run('list')).stdout.split('\n')
    expect(head).toMatch(/^NAME +ID +PRINCIPAL +SCOPES +CREATED +LAST USED +STATUS$/)
    expect(first).toMatch(/^ci +\w+ +key:ci +all +\S+ +- +active$/)
    expect(second).toMatch(/^gone +\w+ +key:gone +all +\S+ +- +revoked \S+$/)
    const { stdout: json } = await run('list', '--json')
    expect(JSON.parse(json)).toMatchObject([{ name: 'ci', principal: 'key:ci' }, { name: 'gone' }])
    const stored = JSON.parse(await readFile(path, 'utf8')) as { keys: { hash: string }[] }
    for (const { hash } of stored.keys) expect(json).not.toContain(hash)
    expect(json).not.toContain(key.trim().split('_')[2])
  })

  test('prints that there are no keys yet, and how to create one', async () => {
    expect(await run('list')).toEqual({
      code: 0,
      stdout: '',
      stderr: `No key file ${path}. Create one with  holdfast keys create NAME\n`,
    })
    expect(await run('list', '--json')).toMatchObject({ code: 0, stdout: '[]\n' })
    expect(await readdir(folder)).toEqual([])
  })

  test('prefers the file of --auth-keys to that of the environment', async () => {
    const other = join(folder, 'other.json')
    await run('create', 'ci', '--auth-keys', other)
    expect(await readdir(folder)).toEqual(['other.json'])
  })

  test('prints its usage', async () => {
    expect((await run('--help')).stdout).toContain('holdfast keys revoke NAME|ID')
    for (const argv of [[], ['creat'], ['constructor']]) {
      expect(await run(...argv)).toMatchObject({
        code: 2,
        stdout: '',
        stderr: expect.stringContaining('Usage:') as string,
      })
    }
  })

  test.each<[string[], number, string]>([
    [['create'], 2, 'create needs a name'],
    [['create', 'a', 'b'], 2, 'create does not take "b"'],
    [['create', 'no spaces'], 2, 'cannot be the name of a key'],
    [['create', 'ci', '--json'], 2, 'create does not take --json'],
    [['create', 'ci', '--principle', 'x'], 2, 'did you mean --principal?'],
    [['list', 'ci'], 2, 'list does not take "ci"'],
    [['list', '--tenant', 'x'], 2, 'list does not take --tenant'],
    [['revoke'], 2, 'revoke needs a name'],
    [['revoke', 'nobody'], 1, 'no key "nobody"'],
  ])('%j fails with %d and a reason', async (argv, code, message) => {
    expect(await run(...argv)).toEqual({ code, stdout: '', stderr: expect.stringContaining(message) as string })
    expect(await readdir(folder)).toEqual([])
  })

  test('does not change a damaged file', async () => {
    await writeFile(path, '{')
    for (const argv of [['list'], ['create', 'ci'], ['revoke', 'ci']]) {
      expect(await run(...argv)).toEqual({
        code: 1,
        stdout: '',
        stderr: expect.stringContaining(`${path} is malformed`) as string,
      })
    }
    expect(await readFile(path, 'utf8')).toBe('{')
  })
})
