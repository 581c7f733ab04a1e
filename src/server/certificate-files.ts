/** Watches a TLS certificate and its key, which certbot or Kubernetes replace while the server runs. */
import { readFile, stat } from 'node:fs/promises'
import { createSecureContext } from 'node:tls'
import { HoldfastError, messageOf } from '../core/model/errors.ts'
import type { Logger } from '../core/ports/logger.ts'

/** Certificate files of the server. They are read again when they change. */
export interface TlsOptions {
  /** Path of a PEM file with the certificate chain. */
  readonly cert: string
  /** Path of a PEM file. */
  readonly key: string
}

export interface KeyPair {
  readonly cert: Buffer
  readonly key: Buffer
}

const CHECK_MS = 1000

export class CertificateFiles {
  readonly #paths: TlsOptions
  readonly #logger: Logger
  readonly #listeners = new Set<(pair: KeyPair) => void>()
  readonly #timer: NodeJS.Timeout
  #current: KeyPair
  #version: string
  #checking = false

  private constructor(paths: TlsOptions, logger: Logger, current: KeyPair, version: string, checkMs: number) {
    this.#paths = paths
    this.#logger = logger
    this.#current = current
    this.#version = version
    this.#timer = setInterval(() => void this.#check(), checkMs).unref()
  }

  /** Throws if the files are not a certificate and its key. */
  static async open(paths: TlsOptions, logger: Logger, checkMs = CHECK_MS): Promise<CertificateFiles> {
    const version = await versionOf(paths)
    return new CertificateFiles(paths, logger, await readPair(paths), version, checkMs)
  }

  get current(): KeyPair {
    return this.#current
  }

  onChange(listener: (pair: KeyPair) => void): void {
    this.#listeners.add(listener)
  }

  close(): void {
    clearInterval(this.#timer)
    this.#listeners.clear()
  }

  /** Keeps the old pair until the new one is valid: while the files are being replaced, they do not match. */
  async #check(): Promise<void> {
    if (this.#checking) return
    this.#checking = true
    try {
      const version = await versionOf(this.#paths)
      if (version === this.#version) return
      const pair = await readPair(this.#paths)
      this.#version = version
      this.#current = pair
      for (const listener of this.#listeners) listener(pair)
      this.#logger.info({ cert: this.#paths.cert }, 'reloaded the TLS certificate')
    } catch (cause) {
      this.#logger.warn({ err: cause }, 'failed to reload the TLS certificate; the old one stays in use')
    } finally {
      this.#checking = false
    }
  }
}

async function versionOf({ cert, key }: TlsOptions): Promise<string> {
  const found = await Promise.all([cert, key].map((path) => stat(path, { bigint: true }).catch(unreadableFile(path))))
  return found.map(({ ino, size, mtimeNs }) => `${ino}:${size}:${mtimeNs}`).join()
}

async function readPair({ cert, key }: TlsOptions): Promise<KeyPair> {
  const [certBytes, keyBytes] = await Promise.all([cert, key].map((path) => readFile(path).catch(unreadableFile(path))))
  const pair = { cert: certBytes!, key: keyBytes! }
  try {
    createSecureContext(pair)
  } catch (cause) {
    throw new HoldfastError(
      'invalid_request',
      `${cert} and ${key} are not a matching certificate and key in PEM: ${messageOf(cause)}`,
      { cause },
    )
  }
  return pair
}

function unreadableFile(path: string): (cause: unknown) => never {
  return (cause) => {
    throw new HoldfastError('invalid_request', `${path} cannot be read: ${messageOf(cause)}`, { cause })
  }
}
