/** Pull-based iterator over a task's events: the consumer sets the pace, and nothing is buffered. */
import type { Fold } from '../../../core/delivery/fold-queue.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import { limitedAs } from '../../../core/model/principal.ts'
import type { Service } from '../../../core/service.ts'
import type { OperationCaller, TaskStream } from '../requests/operations.ts'
import { TaskCursor } from '../view/task-cursor.ts'
import { responseOf } from '../routes/streams.ts'
import type { StreamResponse } from '../wire/wire.ts'

/** Ends with the task's stream. Throws `unavailable` if the server shuts down first. */
export async function* updatesOf(
  service: Service,
  caller: OperationCaller,
  task: TaskStream,
): AsyncGenerator<StreamResponse, void, void> {
  const release = service.openStream(caller.principal)
  const fold = service.views.folds.begin(limitedAs(caller.principal))
  try {
    yield* streamedUpdates(service, caller, task, fold)
  } finally {
    fold.end()
    release()
  }
}

async function* streamedUpdates(
  service: Service,
  caller: OperationCaller,
  task: TaskStream,
  fold: Fold,
): AsyncGenerator<StreamResponse, void, void> {
  const { principal, signal } = caller
  const ended = AbortSignal.any([signal, fold.signal])
  const { start } = task
  const { run, first } = await service.startReading(principal, task.stored.run.id)
  const cursor = await TaskCursor.open(service, { run, first }, start)
  while (!signal.aborted) {
    const slice = await service.read(principal, run.id, cursor.after)
    if (slice === undefined) {
      if (service.isClosed)
        throw new HoldfastError('unavailable', 'the server ends this stream; the task continues: subscribe again')
      await service.waitForMore(principal, run.id, cursor.after, service.limits.longPollTimeoutMs, ended)
      fold.signal.throwIfAborted()
      continue
    }
    const { snapshot, taken } = cursor.take(slice)
    if (snapshot !== undefined) yield responseOf(snapshot, caller, task)
    for (const frame of taken?.step.frames.slice(taken.begin, taken.end) ?? []) yield responseOf(frame, caller, task)
    if (cursor.ended || slice.closed) return
    fold.retain(cursor.referenced)
  }
}
