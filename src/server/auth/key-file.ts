/** The API key file: validated on read, replaced atomically, locked against concurrent changes. */
import { isObject } from '../../core/model/is-object.ts'
import { randomBytes } from 'node:crypto'
import { mkdir, open, readFile, realpath, rename, rm, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { HoldfastError, messageOf } from '../../core/model/errors.ts'
import { isScope } from '../../core/access/scopes.ts'

export const defaultKeysPath = '.holdfast/keys.json'

export interface KeyEntry {
  /** Public part of the key; never reused. */
  readonly id: string
  readonly name: string
  /** Principal that the key authenticates; several keys may share one. */
  readonly principal: string
  readonly tenant?: string
  /** SHA-256 of the secret part, in hex. */
  readonly hash: string
  readonly createdAt: string
  readonly revokedAt?: string
  readonly expiresAt?: string
  /** Default: everything. */
  readonly scopes?: readonly string[]
}

export const KEYS_MAX = 10_000
const FILE_BYTES_MAX = 16 * 1024 * 1024
const TEXT_CHARS_MAX = 256
export const SCOPES_MAX = 100
const FORMAT_VERSION = 1
const LOCK_WAIT_MS = 2000
const LOCK_RETRY_MS = 20

const NAME = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/

/** Key names appear in shells and tables, so they are restricted to safe characters. */
export function isKeyName(text: string): boolean {
  return NAME.test(text)
}

/** Principals and tenants come from token issuers; only control characters are rejected. */
export function isPrincipalText(text: string): boolean {
  return text.length > 0 && text.length <= TEXT_CHARS_MAX && !/[\p{Cc}\p{Cs}]/u.test(text)
}

/** Returns undefined if the file does not exist. Throws if it is malformed. */
export async function readKeyFile(path: string): Promise<readonly KeyEntry[] | undefined> {
  let text: string
  try {
    const { size } = await stat(path)
    if (size > FILE_BYTES_MAX) throw new Error(`the key file is larger than ${FILE_BYTES_MAX} bytes`)
    text = await readFile(path, 'utf8')
  } catch (cause) {
    if (isSystemError(cause, 'ENOENT')) return undefined
    throw new HoldfastError('unavailable', `key file ${path} cannot be read: ${messageOf(cause)}`, { cause })
  }
  try {
    return checkFile(JSON.parse(text))
  } catch (cause) {
    const what = `key file ${path} is malformed: ${messageOf(cause)}. Repair it; no key is accepted until then`
    throw new HoldfastError('unavailable', what, { cause })
  }
}

/** Read-modify-write under the lock file. */
export async function updateKeyFile<Result>(
  path: string,
  change: (keys: readonly KeyEntry[]) => { readonly keys: readonly KeyEntry[]; readonly result: Result },
): Promise<Result> {
  // Write through symbolic links, so that readers of the target see the change.
  const target = await realpath(path).catch(() => resolve(path))
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  const unlock = await lock(target)
  try {
    const { keys, result } = change((await readKeyFile(target)) ?? [])
    await replaceFile(target, `${JSON.stringify({ version: FORMAT_VERSION, keys }, undefined, 2)}\n`)
    return result
  } finally {
    await unlock()
  }
}

/** Crash-safe: the file has either the old or the new content. */
async function replaceFile(path: string, text: string): Promise<void> {
  const temporary = `${path}.${randomBytes(6).toString('hex')}.tmp`
  try {
    const file = await open(temporary, 'wx', 0o600)
    try {
      await file.writeFile(text)
      await file.sync()
    } finally {
      await file.close()
    }
    await rename(temporary, path)
  } catch (cause) {
    await rm(temporary, { force: true })
    throw new HoldfastError('unavailable', `key file ${path} cannot be written: ${messageOf(cause)}`, { cause })
  }
  await syncDirectory(dirname(path))
}

/** Makes the rename durable. Windows neither supports nor needs it. */
async function syncDirectory(path: string): Promise<void> {
  if (process.platform === 'win32') return
  const directory = await open(path, 'r')
  try {
    await directory.sync()
  } finally {
    await directory.close()
  }
}

/** Without the lock, a concurrent `create` could undo a revocation. */
async function lock(path: string): Promise<() => Promise<void>> {
  const lockPath = `${path}.lock`
  for (let waitedMs = 0; ; waitedMs += LOCK_RETRY_MS) {
    try {
      await (await open(lockPath, 'wx', 0o600)).close()
      return () => rm(lockPath, { force: true })
    } catch (cause) {
      if (!isSystemError(cause, 'EEXIST')) {
        throw new HoldfastError('unavailable', `key file ${path} cannot be locked: ${messageOf(cause)}`, { cause })
      }
      if (waitedMs >= LOCK_WAIT_MS) {
        const what = `key file ${path} is locked by another process; if none is running, remove ${lockPath}`
        throw new HoldfastError('unavailable', what, { cause })
      }
    }
    await delay(LOCK_RETRY_MS)
  }
}

function checkFile(file: unknown): readonly KeyEntry[] {
  if (!isObject(file) || !Array.isArray(file['keys']))
    throw new Error('the key file must be a JSON object with a list "keys"')
  if (file['version'] !== FORMAT_VERSION) {
    throw new Error(`its version is ${JSON.stringify(file['version'])}; this program supports ${FORMAT_VERSION}`)
  }
  const keys: readonly unknown[] = file['keys']
  if (keys.length > KEYS_MAX) throw new Error(`the key file has more than ${KEYS_MAX} keys`)
  const seen = new Set<string>()
  for (const [index, key] of keys.entries()) {
    const problem = problemOf(key)
    if (problem !== undefined) throw new Error(`keys[${index}] ${problem}`)
    const { id } = key as KeyEntry
    if (seen.has(id)) throw new Error(`keys[${index}] repeats the id ${id} of an earlier key`)
    seen.add(id)
  }
  return keys as readonly KeyEntry[]
}

type FieldCheck = (value: unknown) => boolean

const isPrincipalField: FieldCheck = (value) => typeof value === 'string' && isPrincipalText(value)
const isTime: FieldCheck = (value) => typeof value === 'string' && !Number.isNaN(Date.parse(value))

const FIELDS: Readonly<Record<keyof KeyEntry, { readonly check: FieldCheck; readonly optional?: true }>> = {
  id: { check: (value) => typeof value === 'string' && /^[0-9a-z]{6,32}$/.test(value) },
  name: { check: (value) => typeof value === 'string' && isKeyName(value) },
  principal: { check: isPrincipalField },
  tenant: { check: isPrincipalField, optional: true },
  hash: { check: (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value) },
  createdAt: { check: isTime },
  revokedAt: { check: isTime, optional: true },
  expiresAt: { check: isTime, optional: true },
  scopes: { check: isScopeList, optional: true },
}

/** Rejects unknown scopes: a newer version may have meant them as a restriction. */
function isScopeList(value: unknown): boolean {
  return Array.isArray(value) && value.length > 0 && value.length <= SCOPES_MAX && value.every(isKnownScope)
}

function isKnownScope(value: unknown): boolean {
  return typeof value === 'string' && isPrincipalText(value) && isScope(value)
}

/** Rejects unknown fields: they may be restrictions that this version would ignore. */
function problemOf(key: unknown): string | undefined {
  if (!isObject(key)) return 'is not an object'
  for (const [name, { check, optional }] of Object.entries(FIELDS)) {
    if (!Object.hasOwn(key, name)) {
      if (optional) continue
      return `has no "${name}"`
    }
    if (!check(key[name])) return `has an invalid "${name}"`
  }
  const unknown = Object.keys(key).find((name) => !Object.hasOwn(FIELDS, name))
  return unknown === undefined ? undefined : `has an unknown field "${unknown}"`
}

function isSystemError(thrown: unknown, code: string): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === code
}
