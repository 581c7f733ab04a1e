/** Streams a response from the beginning or after an event. */
import type { Checkpoint } from '../../../core/delivery/shared-view.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Run } from '../../../core/model/run.ts'
import type { Service } from '../../../core/service.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { Streams } from '../../../http/response/stream.ts'
import { refusal } from '../wire/errors.ts'
import type { Part } from '../wire/ids.ts'
import { followRun } from '../requests/start.ts'
import { encodeData, noticeOf, streamHead } from '../wire/stream.ts'
import { type ResponseFrame, responseKind, TEXT_DELTA } from './projection.ts'
import type { ResponseState } from './state.ts'

export interface FollowedResponse {
  readonly part: Part
  readonly run: Run
  readonly headers: Readonly<Record<string, string>>
  /** Sequence number of the client's last event, and the checkpoint where the subscription starts. */
  readonly resumed?: { readonly after: number; readonly from: Checkpoint<ResponseState> }
}

export function followResponse(
  call: Call,
  service: Service,
  streams: Streams,
  { part, run, headers, resumed }: FollowedResponse,
): Promise<void> {
  return followRun(call, service, streams, run, {
    kind: responseKind(part.number),
    frameFormat: responseFrameFormat,
    headers,
    ...(resumed !== undefined && {
      from: resumed.from,
      isNeeded: ({ sequence }: ResponseFrame) => sequence > resumed.after,
    }),
  })
}

/** Resumes exactly after `starting_after`, or rejects it. */
export function readStartingAfter(query: URLSearchParams, state: ResponseState): number | undefined {
  const text = query.get('starting_after')
  if (text === null) return undefined
  const param = 'starting_after'
  if (!/^\d{1,15}$/.test(text))
    throw refusal(`${param} must be the sequence_number of the last event that you have`, { param })
  const last = state.sequence - 1
  if (Number(text) <= last) return Number(text)
  throw new HoldfastError('cursor_invalid', `the response has events 0 to ${last}: ${text} is beyond its end`, {
    details: { openai: { param } },
  })
}

function encodeWhole(data: ResponseFrame['data']): string {
  return data === '[DONE]' ? encodeData(data) : encodeData(data, data.type)
}

export const responseFrameFormat = {
  ...streamHead,
  key: 'sse',
  encode: (frame: ResponseFrame) =>
    frame.deltaJson === undefined ? encodeWhole(frame.data) : encodeData(frame.deltaJson, TEXT_DELTA),
  // An error outside the log has no sequence number, so the connection is aborted, which every client treats as an error.
  notice: (notice: Parameters<typeof noticeOf>[0]) => noticeOf(notice, () => undefined),
}
