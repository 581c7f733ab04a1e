/** Streams a task as server-sent events; the binding encodes each event. */
import { RESUME_EXTENSION } from '../../../a2a/resume.ts'
import { START } from '../../../core/model/cursor.ts'
import type { HoldfastError } from '../../../core/model/errors.ts'
import { HoldfastError as Failure } from '../../../core/model/errors.ts'
import type { Run } from '../../../core/model/run.ts'
import type { Service } from '../../../core/service.ts'
import type { Call } from '../../../http/route.ts'
import type { Notice, Streams } from '../../../http/stream.ts'
import { viewFormat, type Wire } from '../../../http/view.ts'
import { HEARTBEAT } from '../../../sse/index.ts'
import type { OperationCaller, TaskStream } from '../requests/operations.ts'
import { streamProjection, type TaskFrame } from '../view/projection.ts'
import { checksumOfOrigin } from '../view/resume.ts'
import { taskOf, type TaskView } from '../view/task.ts'
import type { Metadata, StreamResponse } from '../wire/wire.ts'

export interface StreamWords {
  /** The data of an event. */
  readonly event: (response: StreamResponse) => unknown
  /** The data of an event that reports an error and ends the stream. */
  readonly error: (error: HoldfastError) => unknown
}

export async function serveTask(
  call: Call,
  service: Service,
  streams: Streams,
  caller: OperationCaller,
  task: TaskStream,
  words: StreamWords,
): Promise<void> {
  const { run, beginning } = task
  const { first } = await service.get(caller.principal, run.id)
  const format = viewFormat({
    projection: streamProjection(beginning),
    run,
    ends: ({ last }: TaskFrame) => last,
    wire: taskWire(run, (frame) => words.event(responseOf(frame, caller, task)), words.error),
  })
  const after = Math.max(START, first - 1)
  await streams.serve(call.response, format, (stream) => service.subscribe(caller.principal, run.id, after, stream))
}

export function taskWire(run: Run, event: (frame: TaskFrame) => unknown, error: StreamWords['error']): Wire<TaskFrame> {
  return {
    contentType: 'text/event-stream',
    headers: { 'holdfast-run': run.id },
    // First bytes immediately, so that clients and proxies see an open stream.
    preamble: HEARTBEAT,
    heartbeat: HEARTBEAT,
    encode: (frame) => `id: ${frame.sequence}\ndata: ${JSON.stringify(event(frame))}\n\n`,
    notice: (notice) => `event: error\ndata: ${JSON.stringify(error(reasonOf(notice)))}\n\n`,
  }
}

/** The part of an event that all subscribers share. */
export function shownIn({ update, fold }: TaskFrame, view?: TaskView): StreamResponse {
  return 'task' in update ? { task: taskOf(fold, view) } : update
}

/** An event for this caller, with its position if the caller activated the extension. */
export function responseOf(frame: TaskFrame, caller: OperationCaller, { view, gap }: TaskStream): StreamResponse {
  const shown = shownIn(frame, view)
  if (!caller.extensions.has(RESUME_EXTENSION)) return shown
  const { sequence, fold } = frame
  const checksum = checksumOfOrigin(fold.origin)
  const position = {
    [RESUME_EXTENSION]: {
      sequence,
      ...(checksum !== undefined && { checksum }),
      ...(gap && 'task' in shown && { gap }),
    },
  }
  const positioned = <Shown extends { readonly metadata?: Metadata }>(object: Shown): Shown => ({
    ...object,
    metadata: { ...object.metadata, ...position },
  })
  if ('task' in shown) return { task: positioned(shown.task) }
  if ('message' in shown) return { message: positioned(shown.message) }
  if ('statusUpdate' in shown) return { statusUpdate: positioned(shown.statusUpdate) }
  return { artifactUpdate: positioned(shown.artifactUpdate) }
}

/** A stream that ends before its task ends with an error, because a clean end would mean the end of the task. */
function reasonOf(notice: Notice): HoldfastError {
  switch (notice.kind) {
    case 'failed':
      return notice.error
    case 'closing':
      return new Failure(
        'unavailable',
        `the server ends this stream (${notice.reason}); the task continues: subscribe again`,
      )
    case 'gap':
      return new Failure('cursor_expired', `events before ${notice.earliest} were trimmed`)
  }
}
