/** Audit log sinks: the server's own log, and a dedicated file. */
import { createWriteStream, type WriteStream } from 'node:fs'
import type { AuditEntry, AuditSink } from '../core/access/audit.ts'
import { HoldfastError, messageOf } from '../core/model/errors.ts'
import type { Logger } from '../core/ports/logger.ts'

/** Write buffer for a slow disk. Entries beyond it are dropped, with one error in the log. */
const UNWRITTEN_BYTES_MAX = 8 * 1024 * 1024

export function loggedAudit(logger: Logger): AuditSink {
  return (entry) => {
    const level = entry.result === 'ok' ? 'info' : 'warn'
    logger[level]({ audit: entry }, `${entry.action}: ${entry.result}`)
  }
}

/** Appends one JSON object per line. */
export class AuditFile {
  readonly #stream: WriteStream
  readonly #logger: Logger
  #lost = false

  private constructor(stream: WriteStream, logger: Logger) {
    this.#stream = stream
    this.#logger = logger
    stream.on('error', (cause) => this.#lose(messageOf(cause)))
  }

  static async open(path: string, logger: Logger): Promise<AuditFile> {
    const stream = createWriteStream(path, { flags: 'a', mode: 0o600 })
    await new Promise<void>((resolve, reject) => {
      stream.once('open', () => resolve())
      stream.once('error', (cause) =>
        reject(new HoldfastError('invalid_request', `the audit log ${path} cannot be written: ${messageOf(cause)}`)),
      )
    })
    return new AuditFile(stream, logger)
  }

  readonly sink: AuditSink = (entry: AuditEntry) => {
    if (this.#stream.writableLength > UNWRITTEN_BYTES_MAX) return this.#lose('the disk is too slow')
    if (this.#stream.writable) this.#stream.write(`${JSON.stringify(entry)}\n`)
  }

  close(): Promise<void> {
    return new Promise((resolve) => this.#stream.end(() => resolve()))
  }

  #lose(reason: string): void {
    if (this.#lost) return
    this.#lost = true
    this.#logger.error({ reason }, 'audit log entries are being dropped')
  }
}
