/** Finds the run and the offset of a request, like the adapters of TanStack AI. */
import { randomUUID } from 'node:crypto'

/** A run without a request: for server functions that know its id. */
export interface StreamSource {
  readonly runId: string
  /** The offset after which to continue. Default: none, so it produces or reads from the start. */
  readonly offset?: string | null
}

export function toStreamSource(source: Request | StreamSource): Required<StreamSource> {
  const { runId, offset = null } = 'runId' in source ? source : sourceOf(source)
  if (runId === '' || /[\r\n]/.test(runId))
    throw new Error(`the run id ${JSON.stringify(runId)} must not be empty nor have line breaks`)
  return { runId, offset }
}

function sourceOf({ headers, url }: Request): StreamSource {
  const { searchParams } = new URL(url)
  return {
    runId: headers.get('x-run-id') ?? searchParams.get('runId') ?? randomUUID(),
    offset: headers.get('last-event-id') ?? searchParams.get('offset'),
  }
}
