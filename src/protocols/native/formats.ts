/** Stream formats of the log: server-sent events and NDJSON. */
import type { HoldfastError } from '../../core/model/errors.ts'
import type { Limits } from '../../core/model/limits.ts'
import type { Notice, StreamFormat } from '../../http/stream.ts'
import { encodeFrame, encodeRetry, HEARTBEAT } from '../../sse/index.ts'
import { envelopes } from './wire.ts'

/** Records are stored as frames and sent unchanged. Frames that are not in the log have no id and a name in `stream.`. */
export function sseFormat(run: string, limits: Limits): StreamFormat {
  return {
    contentType: 'text/event-stream; charset=utf-8',
    headers: { 'holdfast-run': run },
    preamble: encodeRetry(limits.retryDelayMs),
    heartbeat: HEARTBEAT,
    encode: (slice) => slice.bytes,
    notice: (notice) => encodeFrame({ event: `stream.${notice.kind}`, data: describe(run, notice, limits) }),
  }
}

/** Each line is an envelope, an empty heartbeat, or an object with `stream` that is not in the log. */
export function ndjsonFormat(run: string, limits: Limits): StreamFormat {
  return {
    contentType: 'application/x-ndjson; charset=utf-8',
    headers: { 'holdfast-run': run },
    preamble: '\n',
    heartbeat: '\n',
    encode: (slice) => `${envelopes(slice).join('\n')}\n`,
    notice: (notice) => `${JSON.stringify({ stream: notice.kind, ...describe(run, notice, limits) })}\n`,
  }
}

function describe(run: string, notice: Notice, limits: Limits): object {
  switch (notice.kind) {
    case 'gap':
      return { run, earliest: notice.earliest, message: `events before ${notice.earliest} were trimmed` }
    case 'closing':
      return { run, reason: notice.reason, cursor: notice.cursor, retryMs: limits.retryDelayMs }
    case 'failed':
      return { run, ...failure(notice.error) }
  }
}

function failure({ code, message, retryable, details }: HoldfastError): object {
  return { code, message, retryable, ...(details !== undefined && { details }) }
}
