/** Runs as tasks, in the format of the 2026-07-28 extension and of 2025-11-25. A task is stored before its id is returned. */
import type { Run } from '../../../core/model/run.ts'
import { keyOf, toElicitation } from '../view/elicitation.ts'
import type { ToolResult } from '../view/result.ts'
import { metaOf } from '../view/result.ts'

type TaskStatus = 'working' | 'input_required' | 'completed' | 'failed' | 'cancelled'

const POLL_MS = 1000

/** The extension reports a failed tool as completed: its result is an error. */
function statusOf({ status, waiting = [] }: Run, era: 'legacy' | 'modern'): TaskStatus {
  switch (status) {
    case 'queued':
    case 'running':
      return 'working'
    case 'paused':
      return waiting.length > 0 ? 'input_required' : 'working'
    case 'completed':
    case 'cancelled':
      return status
    case 'failed':
    case 'rejected':
      return era === 'modern' ? 'completed' : 'failed'
  }
}

function taskFields(run: Run, era: 'legacy' | 'modern'): object {
  const { id: taskId, createdAt, updatedAt: lastUpdatedAt, error, reason, waiting = [] } = run
  const statusMessage = error?.message ?? reason ?? (waiting.map(({ prompt }) => prompt).join(' ') || undefined)
  return {
    taskId,
    status: statusOf(run, era),
    ...(statusMessage !== undefined && statusMessage !== '' && { statusMessage }),
    createdAt,
    lastUpdatedAt,
  }
}

export function legacyTask(run: Run): object {
  return { ...taskFields(run, 'legacy'), ttl: null, pollInterval: POLL_MS }
}

export function modernTask(run: Run): object {
  return { ...taskFields(run, 'modern'), ttlMs: null, pollIntervalMs: POLL_MS }
}

/** `result`: the result of a run that has ended. */
export function detailedTask(run: Run, result: ToolResult | undefined): object {
  const { waiting = [] } = run
  const status = statusOf(run, 'modern')
  return {
    ...modernTask(run),
    ...(status === 'input_required' && { inputRequests: { [keyOf(waiting)]: toElicitation(waiting) } }),
    ...(status === 'completed' && result !== undefined && { result: { ...result, resultType: 'complete' } }),
    _meta: metaOf(run),
  }
}

/** Metadata of 2025-11-25 for messages that belong to a task. */
export function relatedTask(taskId: string): Readonly<Record<string, unknown>> {
  return { 'io.modelcontextprotocol/related-task': { taskId } }
}
