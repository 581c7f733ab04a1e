/** `POST /admin/forget`: deletes all data of a principal and streams its progress. */
import type { RemovalCount } from '../../../core/access/forget.ts'
import type { Service } from '../../../core/service.ts'
import { readJson } from '../../../http/request/body.ts'
import { toClientError } from '../../../http/response/client-error.ts'
import { logFailure } from '../../../http/response/log-failure.ts'
import { ISOLATION_HEADERS } from '../../../http/response/respond.ts'
import type { Call, Route } from '../../../http/routing/route.ts'
import { toProblem } from '../wire/errors.ts'
import type { ForgottenShape } from '../wire/shapes.ts'

/** Interval of progress lines. */
const PROGRESS_MS = 1000

export function forgetRoute(service: Service): Route {
  return { method: 'POST', path: '/admin/forget', handle: (call) => forget(call, service) }
}

async function forget(call: Call, service: Service): Promise<void> {
  const { parseBody, forgetBody } = await import('../wire/shapes.ts')
  const body = parseBody(forgetBody, await readJson(call.request, service.limits.maxBodyBytes))
  const { principal: id, tenant, stop = false, dryRun = false } = body
  const who = { id, ...(tenant !== undefined && { tenant }) }
  const lines = new Lines(call)
  try {
    const { signal } = call
    const onProgress = (progress: RemovalCount): void => lines.progress(progress)
    const report = await service.forget(call.principal, who, { dryRun, stop, onProgress, signal })
    lines.end({ report: { principal: id, ...(tenant !== undefined && { tenant }), dryRun, ...report } })
  } catch (cause) {
    if (!call.response.headersSent || call.signal.aborted) throw cause
    lines.fail(cause)
  }
}

class Lines {
  readonly #call: Call
  #reportedAt = Number.NEGATIVE_INFINITY

  constructor(call: Call) {
    this.#call = call
  }

  /** Skipped while the client does not read. */
  progress(progress: RemovalCount): void {
    if (this.#call.response.writableNeedDrain || performance.now() - this.#reportedAt < PROGRESS_MS) return
    this.#reportedAt = performance.now()
    this.#write({ progress: { runs: progress.runs, documents: progress.documents } })
  }

  end(line: ForgottenShape): void {
    this.#write(line)
    this.#call.response.end()
  }

  /** The status is already sent, so the last line has the error. */
  fail(cause: unknown): void {
    const requestId = crypto.randomUUID()
    const error = toClientError(cause, requestId)
    logFailure(this.#call.logger, error, { requestId, method: 'POST', path: '/admin/forget' })
    this.end({ error: JSON.parse(toProblem(error, requestId).body) as Record<string, unknown> })
  }

  #write(line: ForgottenShape): void {
    const { response } = this.#call
    if (!response.headersSent)
      response.writeHead(200, {
        'content-type': 'application/x-ndjson; charset=utf-8',
        'cache-control': 'no-store',
        'x-content-type-options': 'nosniff',
        ...ISOLATION_HEADERS,
      })
    response.write(`${JSON.stringify(line)}\n`)
  }
}
