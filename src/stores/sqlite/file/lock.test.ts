import { execFile, spawn } from 'node:child_process'
import { linkSync, mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { openSqliteStore } from '../index.ts'
import { lockFile } from './lock.ts'

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-lock-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

describe('SQLite: the lock of a file', () => {
  test('is held by one at a time, and free again when it is let go', () => {
    const path = join(temporaryFolder(), 'runs.db')
    const lock = lockFile(path)
    expect(() => lockFile(path)).toThrow(`${path} is in use`)
    lock.release()
    lockFile(path).release()
  })

  test('keeps another process out, with a message that says what to do', async () => {
    const path = join(temporaryFolder(), 'runs.db')
    const lock = lockFile(path)
    await expect(lockElsewhere(path)).rejects.toThrow(
      `${path} is in use by another process; stop that one, or give this one another --store`,
    )
    lock.release()
    await lockElsewhere(path)
  })

  test('is free when the process that held it was killed', async () => {
    const path = join(temporaryFolder(), 'runs.db')
    const holder = spawn(process.execPath, [
      ...FLAGS,
      program(path, `process.stdout.write('held'); setInterval(() => lock, 1000)`),
    ])
    const exited = new Promise((resolve) => holder.once('exit', resolve))
    await new Promise((resolve) => holder.stdout.once('data', resolve))
    expect(() => lockFile(path)).toThrow('is in use by another process')
    holder.kill('SIGKILL')
    await exited
    lockFile(path).release()
  })

  test('is let go when the store is closed', async () => {
    const path = join(temporaryFolder(), 'runs.db')
    const store = await openSqliteStore({ path })
    await expect(openSqliteStore({ path })).rejects.toThrow(`${path} is in use`)
    await store.close()
    const again = await openSqliteStore({ path })
    await again.close()
  })

  test.each<[string, (lock: string) => void]>([
    ['garbage', (lock) => writeFileSync(lock, 'no lock of ours '.repeat(100))],
    ['a folder', (lock) => mkdirSync(lock)],
  ])('the error for a lock file that is %s does not blame another process', (_name, place) => {
    const path = join(temporaryFolder(), 'runs.db')
    place(`${path}.lock`)
    expect(() => lockFile(path)).toThrow(`${path}.lock`)
    expect(() => lockFile(path)).not.toThrow('another process')
  })
})

describe('SQLite: another name of a locked file', () => {
  test.each<[string, (folder: string, path: string) => string]>([
    ['a symbolic link', (folder, path) => linked(path, join(folder, 'other.db'))],
    [
      'a symbolic link to a symbolic link',
      (folder, path) => linked(linked(path, join(folder, 'b.db')), join(folder, 'c.db')),
    ],
    [
      'a folder that is a symbolic link',
      (folder, path) => join(linked(folder, `${folder}-other`), path.slice(folder.length)),
    ],
  ])('is refused: %s', async (_name, nameOf) => {
    const folder = temporaryFolder()
    const path = join(folder, 'runs.db')
    const store = await openSqliteStore({ path })
    const other = nameOf(folder, path)
    await expect(openSqliteStore({ path: other })).rejects.toThrow(`${other} is in use by another process`)
    await store.close()
    const again = await openSqliteStore({ path: other })
    await again.close()
    expect(readdirSync(folder).filter((file) => file.endsWith('.lock'))).toEqual(['runs.db.lock'])
  })

  test('is refused while the file has it: a hard link', async () => {
    const folder = temporaryFolder()
    const path = join(folder, 'runs.db')
    await (await openSqliteStore({ path })).close()
    const other = join(folder, 'other.db')
    linkSync(path, other)
    for (const name of [path, other])
      await expect(openSqliteStore({ path: name })).rejects.toThrow(`${name} has 2 hard links`)
    rmSync(other)
    await (await openSqliteStore({ path })).close()
  })

  test('is refused when it leads to no file, and nothing is made', () => {
    const folder = temporaryFolder()
    const path = linked(join(folder, 'lost.db'), join(folder, 'runs.db'))
    expect(() => lockFile(path)).toThrow(`${path} is a symbolic link to a file that does not exist`)
    expect(readdirSync(folder)).toEqual(['runs.db'])
  })
})

function linked(target: string, link: string): string {
  symlinkSync(target, link)
  onTestFinished(() => rmSync(link, { force: true }))
  return link
}

const FLAGS = ['--no-warnings', '--input-type=module', '-e']

function program(path: string, then: string): string {
  return `const { lockFile } = await import(${JSON.stringify(new URL('./lock.ts', import.meta.url).href)})
    const lock = lockFile(${JSON.stringify(path)})
    ${then}`
}

async function lockElsewhere(path: string): Promise<void> {
  await promisify(execFile)(process.execPath, [...FLAGS, program(path, 'lock.release()')])
}
