/** Streams a task as server-sent events; the binding encodes each event. */
import { RESUME_EXTENSION } from '../../../a2a/resume.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import { type JsonTemplate, jsonTemplate } from '../../../core/model/json-template.ts'
import { type Encoding, joinEncoded } from '../../../core/delivery/encoded.ts'
import type { Subscription } from '../../../core/delivery/subscription.ts'
import type { Run } from '../../../core/model/run.ts'
import type { Service } from '../../../core/service.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { Notice, Stream, StreamFormat, Streams } from '../../../http/response/stream.ts'
import { encodeSelected, type FrameFormat } from '../../../http/response/view.ts'
import { HEARTBEAT } from '../../../sse/index.ts'
import type { OperationCaller, TaskStream } from '../requests/operations.ts'
import type { TaskFrame } from '../view/projection.ts'
import { checksumOfOrigin } from '../view/resume.ts'
import { TaskCursor } from '../view/task-cursor.ts'
import type { ContinuedText } from '../view/text-frames.ts'
import { taskOf, type TaskView } from '../view/task.ts'
import type { Metadata, StreamResponse } from '../wire/wire.ts'

export interface StreamEncoding {
  /** Cache key: encodings with the same key encode an event alike. */
  readonly key: string
  /** The data of an event. */
  readonly event: (response: StreamResponse) => unknown
  /** Text before and after the data of each event. Default: none. */
  readonly envelope?: { readonly before: string; readonly after: string }
  /** The data of an event that reports an error and ends the stream. */
  readonly error: (error: HoldfastError) => unknown
}

export async function serveTask(
  call: Call,
  service: Service,
  streams: Streams,
  caller: OperationCaller,
  task: TaskStream,
  encoding: StreamEncoding,
): Promise<void> {
  const { stored, start } = task
  const cursor = await TaskCursor.open(service, stored, start)
  const frameFormat = taskFrameFormat(stored.run, frameEncoding(caller, task, encoding), encoding.error)
  const format: StreamFormat = {
    ...frameFormat,
    encode(slice) {
      const { snapshot, taken } = cursor.take(slice)
      const rest = taken === undefined ? '' : encodeSelected(frameFormat, taken)
      return snapshot === undefined ? rest : joinEncoded(frameFormat.encode(snapshot), rest)
    },
    done: () => cursor.ended,
    referenced: () => cursor.referenced,
  }
  const subscribe = (stream: Stream): Promise<Subscription> =>
    service.subscribe(caller.principal, stored, cursor.after, stream)
  await streams.serve(call.response, format, subscribe)
}

/** Cached data of frames, by form. Callers differ only in the envelope, and the data is much longer. */
const bodies = new WeakMap<TaskFrame, Map<string, string>>()
/** The same for consecutive texts: one template for all of them. */
const templates = new WeakMap<ContinuedText['artifact'], Map<string, JsonTemplate>>()
/** Maximum cached forms per frame. */
const FORMS_MAX = 8

/** Only the task that a stream starts with depends on what else the caller asked for, such as the length of its history. */
export function frameEncoding(
  caller: Pick<OperationCaller, 'extensions'>,
  task: Pick<TaskStream, 'view' | 'gap'>,
  encoding: Pick<StreamEncoding, 'key' | 'event' | 'envelope'>,
): Encoding<TaskFrame> {
  const { before = '', after = '' } = encoding.envelope ?? {}
  const { historyLength = '', includeArtifacts = true } = task.view
  const hasPosition = caller.extensions.has(RESUME_EXTENSION)
  const form = `${encoding.key} ${hasPosition} ${historyLength} ${includeArtifacts}`
  const templateOf = (artifact: ContinuedText['artifact']): JsonTemplate =>
    inForm(templates, artifact, form, () => jsonTemplate((text) => encoding.event(artifact.updateWith(text)) as object))
  const bodyOf = (frame: TaskFrame): string => {
    const { continued } = frame
    if (continued !== undefined && !hasPosition) return templateOf(continued.artifact).json(continued.json, 0)
    return inForm(bodies, frame, form, () => JSON.stringify(encoding.event(responseOf(frame, caller, task))))
  }
  return {
    key: `${form} ${before}`,
    encode: (frame) => `id: ${frame.sequence}\ndata: ${before}${bodyOf(frame)}${after}\n\n`,
  }
}

function inForm<Of extends object, Value>(
  all: WeakMap<Of, Map<string, Value>>,
  of: Of,
  form: string,
  make: () => Value,
): Value {
  let known = all.get(of)
  if (known === undefined) all.set(of, (known = new Map()))
  const found = known.get(form)
  if (found !== undefined) return found
  const made = make()
  if (known.size < FORMS_MAX) known.set(form, made)
  return made
}

export function taskFrameFormat(
  run: Run,
  encoding: Encoding<TaskFrame>,
  error: StreamEncoding['error'],
): FrameFormat<TaskFrame> {
  return {
    contentType: 'text/event-stream',
    headers: { 'holdfast-run': run.id },
    // First bytes immediately, so that clients and proxies see an open stream.
    preamble: HEARTBEAT,
    heartbeat: HEARTBEAT,
    ...encoding,
    notice: (notice) => `event: error\ndata: ${JSON.stringify(error(reasonOf(notice)))}\n\n`,
  }
}

/** The part of an event that all subscribers share. */
export function updateFor(frame: TaskFrame, view?: TaskView): StreamResponse {
  const { update } = frame
  return 'task' in update ? { task: taskOf(frame.fold, view) } : update
}

/** An event for this caller, with its position if the caller activated the extension. */
export function responseOf(
  frame: TaskFrame,
  caller: Pick<OperationCaller, 'extensions'>,
  { view, gap }: Pick<TaskStream, 'view' | 'gap'>,
): StreamResponse {
  const visible = updateFor(frame, view)
  if (!caller.extensions.has(RESUME_EXTENSION)) return visible
  const { sequence, origin } = frame
  const checksum = checksumOfOrigin(origin)
  const position = {
    [RESUME_EXTENSION]: {
      sequence,
      ...(checksum !== undefined && { checksum }),
      ...(gap && 'task' in visible && { gap }),
    },
  }
  const positioned = <Update extends { readonly metadata?: Metadata }>(object: Update): Update => ({
    ...object,
    metadata: { ...object.metadata, ...position },
  })
  if ('task' in visible) return { task: positioned(visible.task) }
  if ('message' in visible) return { message: positioned(visible.message) }
  if ('statusUpdate' in visible) return { statusUpdate: positioned(visible.statusUpdate) }
  return { artifactUpdate: positioned(visible.artifactUpdate) }
}

/** A stream that ends before its task ends with an error, because a clean end would mean that the task has ended. */
function reasonOf(notice: Notice): HoldfastError {
  switch (notice.kind) {
    case 'failed':
      return notice.error
    case 'closing':
      return new HoldfastError(
        'unavailable',
        `the server ends this stream (${notice.reason}); the task continues: subscribe again`,
      )
    case 'gap':
      return new HoldfastError('cursor_expired', `events before ${notice.earliest} were trimmed`)
  }
}
