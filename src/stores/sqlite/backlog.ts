/** Backpressure: new runs are refused while compaction is behind. Running ones cannot be refused. */
import { storeUnavailable } from '../../core/model/errors.ts'

const BACKLOG_BYTES_MAX = 64 * 1024 * 1024
const BACKLOG_RETRY_MS = 1000

/** `bytes`: durable records that are not in segments yet, and so are held in memory. */
export function assertBacklogBelow(bytes: number, maxBytes = BACKLOG_BYTES_MAX): void {
  if (bytes <= maxBytes) return
  throw storeUnavailable(`the store is behind: ${bytes} bytes of its log wait for compaction`, {
    retryAfterMs: BACKLOG_RETRY_MS,
  })
}
