/** Loads the keys that encrypt stored secrets, from the configuration or a key file next to a SQLite database. */
import { HoldfastError, messageOf } from '../../core/model/errors.ts'
import type { Logger } from '../../core/ports/logger.ts'
import type { StoreConfig } from '../config/config-options.ts'
import { KEY_BYTES } from './secret-box.ts'

const KEYS_MAX = 20
const HOW = `a key is ${KEY_BYTES} random bytes in hex or base64, such as the output of openssl rand -hex ${KEY_BYTES}`

/** Comma- or newline-separated keys. Errors never repeat them. */
export function parseSecretKeys(text: string): readonly Buffer[] {
  const parts = text.split(/[,\n]/).map((part) => part.trim())
  const keys = parts.filter((part) => part !== '' && !part.startsWith('#')).map(parseSecretKey)
  if (keys.length === 0) throw new HoldfastError('invalid_request', `the value contains no key: ${HOW}`)
  if (keys.length > KEYS_MAX) throw new HoldfastError('invalid_request', `the value has more than ${KEYS_MAX} keys`)
  return keys
}

export function parseSecretKey(text: string): Buffer {
  const key = /^[0-9a-f]{64}$/i.test(text)
    ? Buffer.from(text, 'hex')
    : /^[\w+/-]{43}=?$/.test(text)
      ? Buffer.from(text, 'base64')
      : undefined
  if (key?.length === KEY_BYTES) return key
  throw new HoldfastError('invalid_request', `one of the secret keys is not ${KEY_BYTES} bytes long: ${HOW}`)
}

/** Path of the key file for a SQLite database, if no key is configured. */
function keyFileOf(database: string): string {
  return `${database}.key`
}

/**
 * The configured keys. Default: the key file of a SQLite database, created if missing; none for other stores, since every node needs
 * the same.
 */
export function openSecretKeys(
  configured: string | undefined,
  store: StoreConfig,
  logger: Logger,
): readonly Buffer[] | undefined {
  if (configured?.startsWith('file:') === true) return readKeyFile(configured.slice('file:'.length), logger)
  if (configured !== undefined) return parseSecretKeys(configured)
  if (store.kind !== 'sqlite') return undefined
  const path = keyFileOf(store.path)
  makeKeyFile(path)
  return readKeyFile(path, logger)
}

function makeKeyFile(path: string): void {
  const { writeFileSync } = process.getBuiltinModule('node:fs')
  const { randomBytes } = process.getBuiltinModule('node:crypto')
  try {
    writeFileSync(path, `${randomBytes(KEY_BYTES).toString('hex')}\n`, { flag: 'wx', mode: 0o600 })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return
    throw new HoldfastError('invalid_request', `the key file ${path} cannot be created: ${messageOf(cause)}`, { cause })
  }
}

function readKeyFile(path: string, logger: Logger): readonly Buffer[] {
  const { readFileSync, statSync } = process.getBuiltinModule('node:fs')
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (cause) {
    throw new HoldfastError('invalid_request', `the key file ${path} cannot be read: ${messageOf(cause)}`, { cause })
  }
  const mode = statSync(path).mode & 0o777
  if (process.platform !== 'win32' && (mode & 0o077) !== 0)
    logger.warn({}, `${path} has mode 0${mode.toString(8)}: other users can read the secret keys; chmod 600 ${path}`)
  try {
    return parseSecretKeys(text)
  } catch (cause) {
    throw new HoldfastError('invalid_request', `the key file ${path}: ${messageOf(cause)}`, { cause })
  }
}
