/** The result of a tool call. A run that did not complete is an error that the caller's model can read, never an empty success. */
import { isObject } from '../../../core/model/is-object.ts'
import type { LoggedEvent } from '../../../core/model/event.ts'
import type { Run } from '../../../core/model/run.ts'
import { textFrom } from '../../../core/structure/text-pieces.ts'
import { artifactContent } from './artifacts.ts'
import type { CallState } from './projection.ts'

export interface ToolResult {
  readonly content: readonly object[]
  readonly structuredContent?: Readonly<Record<string, unknown>>
  readonly isError?: true
  readonly _meta: Readonly<Record<string, unknown>>
}

type End = Extract<LoggedEvent, { type: `run.${'completed' | 'failed' | 'cancelled' | 'rejected'}` }>

export function resultOf(state: CallState, event: End): ToolResult {
  switch (event.type) {
    case 'run.completed':
      return completed(state, event.data.output)
    case 'run.failed': {
      const { code, message, retryable = false } = event.data.error
      return failure(state.run, message, { code, retryable })
    }
    case 'run.cancelled':
      return failure(state.run, withReason('the run was cancelled', event.data.reason), { code: 'cancelled' })
    case 'run.rejected':
      return failure(state.run, event.data.reason, { code: 'rejected' })
  }
}

function completed(state: CallState, output: unknown): ToolResult {
  const { run, isTrimmed = false, artifacts } = state
  if (isTrimmed && output === undefined)
    return failure(run, 'the first events of the run were trimmed, so its output is no longer complete', {
      code: 'cursor_expired',
    })
  const streamed = isTrimmed ? '' : textFrom(state.text)
  const text = streamed === '' && output !== undefined ? outputText(output) : streamed
  return {
    content: [...(text === '' ? [] : [{ type: 'text', text }]), ...artifactContent(run.id, artifacts)],
    ...(isObject(output) && { structuredContent: output }),
    _meta: metaOf(run),
  }
}

/** For a client that cannot answer. The run waits for somebody who can. */
export function waitingResult(run: CallState['run'], prompts: readonly string[]): ToolResult {
  const text = `the run waits for an answer that this client cannot give: ${prompts.join(' ')} (run ${run.id})`
  return failure(run, text, { code: 'input_required' })
}

export function failure(
  run: Pick<Run, 'id' | 'session'> | undefined,
  message: string,
  error: Readonly<Record<string, unknown>>,
): ToolResult {
  return {
    content: [{ type: 'text', text: message }],
    isError: true,
    _meta: { ...(run !== undefined && metaOf(run)), 'holdfast/error': error },
  }
}

export function metaOf({ id, session }: Pick<Run, 'id' | 'session'>): Readonly<Record<string, unknown>> {
  return { 'holdfast/run': id, 'holdfast/session': session }
}

function withReason(text: string, reason: string | undefined): string {
  return reason === undefined || reason === '' ? text : `${text}: ${reason}`
}

function outputText(output: unknown): string {
  return typeof output === 'string' ? output : JSON.stringify(output)
}
