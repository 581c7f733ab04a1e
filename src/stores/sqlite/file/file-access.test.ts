import { execFile } from 'node:child_process'
import { chmodSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { silentLogger } from '../../../core/ports/logger.ts'
import { makeFolder } from './file-access.ts'
import { openSqliteStore } from '../index.ts'

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-access-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

function modeOf(path: string): string {
  return (statSync(path).mode & 0o777).toString(8)
}

/** Opens a store and returns its warnings. */
async function warningsOf(path: string): Promise<string[]> {
  const warnings: string[] = []
  const store = await openSqliteStore({
    path,
    logger: { ...silentLogger, warn: (_fields, message) => warnings.push(message) },
  })
  await store.close()
  return warnings
}

test('SQLite: a new store is for its owner alone: files 0600, directories 0700, whatever the umask', async () => {
  const folder = join(temporaryFolder(), 'a', 'b')
  const path = join(folder, 'runs.db')
  const umask = process.umask(0)
  onTestFinished(() => void process.umask(umask))
  const store = await openSqliteStore({ path })
  onTestFinished(() => store.close())
  expect([modeOf(join(folder, '..')), modeOf(folder)]).toEqual(['700', '700'])
  const files = readdirSync(folder)
  expect(files).toEqual(expect.arrayContaining(['runs.db', 'runs.db-wal', 'runs.db-shm', 'runs.db.lock']))
  for (const file of files) expect([file, modeOf(join(folder, file))]).toEqual([file, '600'])
})

test('SQLite: wider modes of a store that exists are warned of, with what to do, and left as they are', async () => {
  const folder = temporaryFolder()
  const path = join(folder, 'runs.db')
  expect(await warningsOf(path)).toEqual([])
  chmodSync(path, 0o644)
  chmodSync(folder, 0o775)
  expect(await warningsOf(path)).toEqual([
    `${path} has mode 0644: other users can read all runs; chmod 600 ${path}`,
    `${folder} has mode 0775: other users can replace the database; chmod 700 ${folder}`,
  ])
  expect(modeOf(path)).toBe('644')
})

test.each([
  ['755', 'chmod 700 FOLDER'],
  ['711', 'chmod 700 FOLDER'],
  ['1777', 'move the database to a directory of its own'],
])(
  'SQLite: a directory of mode %s is warned of, although no other user can replace the database',
  async (mode, todo) => {
    const folder = temporaryFolder()
    chmodSync(folder, Number.parseInt(mode, 8))
    expect(await warningsOf(join(folder, 'runs.db'))).toEqual([
      `${folder} has mode 0${mode}: other users can see its files and their sizes; ${todo.replace('FOLDER', folder)}`,
    ])
    expect(modeOf(folder)).toBe(mode.slice(-3))
  },
)

// Only Linux has a folder in which nobody, not even root, can make another.
test.skipIf(process.platform !== 'linux')('SQLite: a directory that cannot be created is reported at once', () => {
  expect(() => makeFolder('/proc/nope/deeper')).toThrow(/the directory \/proc\/nope cannot be created .*--store/)
})

test('SQLite: a file in place of the directory is reported', async () => {
  const file = join(temporaryFolder(), 'file')
  writeFileSync(file, '')
  await expect(openSqliteStore({ path: join(file, 'runs.db') })).rejects.toThrow(`${file} is not a directory`)
})

// Root may write anywhere, so another user tries; only root can become another user.
test.skipIf(process.getuid?.() !== 0)(
  'SQLite: a read-only directory is reported as such, with what to do',
  async () => {
    const folder = temporaryFolder()
    const url = new URL('./file-access.ts', import.meta.url)
    const program = `import { accessSync } from 'node:fs'
    const { assertWritable } = await import(${JSON.stringify(url.href)})
    process.setuid(65534)
    try { assertWritable(${JSON.stringify(join(folder, 'runs.db'))}) } catch (error) { process.stdout.write(error.message) }`
    chmodSync(folder, 0o755)
    const { stdout } = await promisify(execFile)(process.execPath, [
      '--no-warnings',
      '--input-type=module',
      '-e',
      program,
    ])
    expect(stdout).toBe(
      `${folder} is not writable: permission denied; change its permissions or choose another --store`,
    )
  },
)
