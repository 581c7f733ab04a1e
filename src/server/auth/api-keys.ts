/** API keys: created and revoked in a file that the server watches. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import { stat } from 'node:fs/promises'
import type { Clock } from '../../core/ports/clock.ts'
import { systemClock } from '../../core/ports/clock.ts'
import { HoldfastError, messageOf } from '../../core/model/errors.ts'
import type { Authenticator, Credential, CredentialInfo, Principal } from '../../core/model/principal.ts'
import { credentialMissing, credentialRefused, keyPrincipalId } from '../../core/model/principal.ts'
import { isScope } from '../../core/access/scopes.ts'
import type { KeyEntry } from './key-file.ts'
import { isKeyName, isPrincipalText, KEYS_MAX, readKeyFile, SCOPES_MAX, updateKeyFile } from './key-file.ts'
import { KeyUsageRecorder } from './key-usage.ts'

/** Distinguishes keys from tokens, and lets secret scanners find leaked keys. */
export const KEY_PREFIX = 'hf_'

const KEY = /^hf_([0-9a-z]{6,32})_([0-9a-f]{64})$/
/** Prefix of key ids among credential ids. */
const CREDENTIAL_PREFIX = 'key:'
const ID_BYTES = 5
const SECRET_BYTES = 32
/** Interval between file checks, and so the delay of a revocation. */
const RECHECK_MS = 1000
const RETRY_AFTER_MS = 5000

export interface NewKey {
  readonly name: string
  /** Default: a principal with the key's name that no token can claim. */
  readonly principal?: string | undefined
  readonly tenant?: string | undefined
  /** Default: everything. */
  readonly scopes?: readonly string[] | undefined
  /** Default: never expires. */
  readonly expiresInMs?: number | undefined
}

export interface CreatedKey {
  readonly entry: KeyEntry
  /** The key itself. It is not stored and cannot be shown again. */
  readonly key: string
}

export async function createKey(path: string, newKey: NewKey, clock: Clock = systemClock): Promise<CreatedKey> {
  const { name, principal = keyPrincipalId(name), tenant, scopes, expiresInMs } = newKey
  checkNewKey(name, principal, tenant)
  if (scopes !== undefined) checkScopes(scopes)
  const secret = randomBytes(SECRET_BYTES).toString('hex')
  return updateKeyFile(path, (keys) => {
    if (keys.length >= KEYS_MAX)
      throw new HoldfastError('conflict', `key file ${path} is full: it has ${KEYS_MAX} keys`)
    const existing = keys.find((key) => key.id === name || (key.name === name && key.revokedAt === undefined))
    if (existing)
      throw new HoldfastError(
        'conflict',
        `key "${name}" already exists (id ${existing.id}): revoke it, or choose another name`,
      )
    const entry: KeyEntry = {
      id: unusedId(keys),
      name,
      principal,
      ...(tenant === undefined ? {} : { tenant }),
      hash: hashOf(secret).toString('hex'),
      createdAt: new Date(clock.now()).toISOString(),
      ...(expiresInMs !== undefined && { expiresAt: new Date(clock.now() + expiresInMs).toISOString() }),
      ...(scopes !== undefined && { scopes }),
    }
    return { keys: [...keys, entry], result: { entry, key: `${KEY_PREFIX}${entry.id}_${secret}` } }
  })
}

/** All keys, including revoked ones; undefined if the file does not exist. */
export function listKeys(path: string): Promise<readonly KeyEntry[] | undefined> {
  return readKeyFile(path)
}

export interface Revocation {
  readonly entry: KeyEntry
  /** It was already revoked; the original time is kept. */
  readonly already: boolean
}

export async function revokeKey(path: string, nameOrId: string, clock: Clock = systemClock): Promise<Revocation> {
  const missing = (): HoldfastError =>
    new HoldfastError('not_found', `no key "${nameOrId}" in ${path}: list the keys with holdfast keys list`)
  // Check first, so that a wrong path does not create an empty file.
  if ((await readKeyFile(path)) === undefined) throw missing()
  return updateKeyFile<Revocation>(path, (keys) => {
    const fits = keys.filter((key) => key.id === nameOrId || key.name === nameOrId)
    const entry = fits.find((key) => key.revokedAt === undefined) ?? fits.at(-1)
    if (entry === undefined) throw missing()
    if (entry.revokedAt !== undefined) return { keys, result: { entry, already: true } }
    const revoked: KeyEntry = { ...entry, revokedAt: new Date(clock.now()).toISOString() }
    return { keys: keys.map((key) => (key === entry ? revoked : key)), result: { entry: revoked, already: false } }
  })
}

/** Removes all keys of a principal, including revoked ones. Returns the count. */
export async function removeKeysOf(
  path: string,
  { principal, tenant }: { readonly principal: string; readonly tenant?: string | undefined },
  { dryRun }: { readonly dryRun: boolean },
): Promise<number> {
  const isTheirs = (key: KeyEntry): boolean => key.principal === principal && key.tenant === tenant
  const keys = await readKeyFile(path)
  if (keys === undefined) throw noFile(path)
  const count = keys.filter(isTheirs).length
  if (dryRun || count === 0) return count
  return updateKeyFile(path, (current) => {
    const remaining = current.filter((key) => !isTheirs(key))
    return { keys: remaining, result: current.length - remaining.length }
  })
}

/** Authenticates with a key file and picks up its changes. Throws if the file is missing or malformed. */
export async function openKeyAuthenticator(path: string, clock: Clock = systemClock): Promise<Authenticator> {
  const authenticator = new KeyAuthenticator(path, clock)
  await authenticator.load()
  return authenticator
}

class KeyAuthenticator implements Authenticator {
  readonly scheme = 'keys'
  readonly #path: string
  readonly #clock: Clock
  readonly #usage: KeyUsageRecorder
  #keys: ReadonlyMap<string, KeyEntry> = new Map()
  #version = ''
  #checkedAt = Number.NEGATIVE_INFINITY
  #check: Promise<void> = Promise.resolve()

  constructor(path: string, clock: Clock) {
    this.#path = path
    this.#clock = clock
    this.#usage = new KeyUsageRecorder(path)
  }

  load(): Promise<void> {
    this.#checkedAt = this.#clock.now()
    this.#check = this.#reload()
    return this.#check
  }

  async authenticate(credential: Credential): Promise<Principal> {
    if (credential.bearer === undefined) throw credentialMissing()
    await this.#refresh()
    const [, id, secret] = KEY.exec(credential.bearer) ?? []
    if (id === undefined || secret === undefined) throw credentialRefused()
    const entry = this.#keys.get(id)
    const fits = timingSafeEqual(hashOf(secret), entry === undefined ? NO_HASH : Buffer.from(entry.hash, 'hex'))
    if (entry === undefined || !fits || entry.revokedAt !== undefined) throw credentialRefused()
    const expiresAt = entry.expiresAt === undefined ? undefined : Date.parse(entry.expiresAt)
    const now = this.#clock.now()
    if (expiresAt !== undefined && now >= expiresAt) throw credentialRefused()
    this.#usage.note(id, now)
    const { principal, tenant, name, scopes } = entry
    return {
      id: principal,
      name,
      ...(tenant !== undefined && { tenant }),
      ...(scopes !== undefined && { scopes }),
      credential: { id: CREDENTIAL_PREFIX + id, ...(expiresAt !== undefined && { expiresAt }) },
    }
  }

  async isRevoked({ id }: CredentialInfo): Promise<boolean> {
    if (id?.startsWith(CREDENTIAL_PREFIX) !== true) return false
    await this.#refresh()
    const entry = this.#keys.get(id.slice(CREDENTIAL_PREFIX.length))
    return entry === undefined || entry.revokedAt !== undefined
  }

  async removeCredentials({ id, tenant }: Principal, { dryRun }: { readonly dryRun: boolean }): Promise<number> {
    const removed = await removeKeysOf(this.#path, { principal: id, tenant }, { dryRun })
    if (removed > 0 && !dryRun) await this.load()
    return removed
  }

  /** Concurrent requests share one file check. A clock that is set back does not delay the next one. */
  async #refresh(): Promise<void> {
    const elapsedMs = this.#clock.now() - this.#checkedAt
    const check = elapsedMs >= RECHECK_MS || elapsedMs < 0 ? this.load() : this.#check
    try {
      await check
    } catch (cause) {
      // Do not fall back to cached keys: the unreadable file may revoke them.
      throw new HoldfastError('unavailable', 'credentials cannot be checked right now', {
        cause,
        retryAfterMs: RETRY_AFTER_MS,
      })
    }
  }

  async #reload(): Promise<void> {
    const version = await versionOf(this.#path)
    if (version === this.#version) return
    this.#version = ''
    const keys = await readKeyFile(this.#path)
    if (keys === undefined) throw noFile(this.#path)
    this.#keys = new Map(keys.map((key) => [key.id, key]))
    // The version from before the read, so that a change in between triggers another read.
    this.#version = version
  }
}

async function versionOf(path: string): Promise<string> {
  try {
    const { ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true })
    return [ino, size, mtimeNs, ctimeNs].join(':')
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') throw noFile(path, cause)
    throw new HoldfastError('unavailable', `key file ${path} cannot be read: ${messageOf(cause)}`, { cause })
  }
}

function noFile(path: string, cause?: unknown): HoldfastError {
  const next = `create the first key with: holdfast keys create NAME --auth-keys ${path}`
  return new HoldfastError('unavailable', `key file ${path} does not exist; ${next}`, { cause })
}

/** No slow password hash needed: the secret is 256 random bits. */
function hashOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest()
}

const NO_HASH = Buffer.alloc(32)

function unusedId(keys: readonly KeyEntry[]): string {
  const used = new Set(keys.flatMap((key) => [key.id, key.name]))
  for (let attempt = 0; attempt < 100; attempt++) {
    const id = randomBytes(ID_BYTES).toString('hex')
    if (!used.has(id)) return id
  }
  throw new Error('failed to generate an unused key id')
}

function checkNewKey(name: string, principal: string, tenant: string | undefined): void {
  if (!isKeyName(name)) {
    const rule = 'use 1 to 64 letters, digits, ".", "_", "@" and "-", starting with a letter or digit'
    throw new HoldfastError('invalid_request', `${JSON.stringify(name)} cannot be the name of a key: ${rule}`)
  }
  for (const [what, text] of Object.entries({ principal, tenant })) {
    if (text === undefined || isPrincipalText(text)) continue
    throw new HoldfastError(
      'invalid_request',
      `the ${what} must be 1 to 256 characters, none of them a control character`,
    )
  }
}

function checkScopes(scopes: readonly string[]): void {
  const unknown = scopes.find((scope) => !isScope(scope) || !isPrincipalText(scope))
  if (unknown !== undefined) {
    const known = 'runs:read, runs:write, admin, component:ID, run:ID:read, or one of AgentOS such as agents:run'
    throw new HoldfastError('invalid_request', `${JSON.stringify(unknown)} is not a scope: use ${known}`)
  }
  if (scopes.length === 0 || scopes.length > SCOPES_MAX)
    throw new HoldfastError(
      'invalid_request',
      `a key needs 1 to ${SCOPES_MAX} scopes; leave them out to allow everything`,
    )
}
