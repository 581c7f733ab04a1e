/** Pull-based iterator over a task's events: the consumer sets the pace, and nothing is buffered. */
import { START } from '../../../core/model/cursor.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import { events, lastOf } from '../../../core/model/record.ts'
import type { Service } from '../../../core/service.ts'
import type { OperationCaller, TaskStream } from '../requests/operations.ts'
import { streamProjection } from '../view/projection.ts'
import { responseOf } from '../routes/streams.ts'
import type { StreamResponse } from '../wire/wire.ts'

/** Ends with the task's stream. Throws `unavailable` if the server shuts down first. */
export async function* updatesOf(
  service: Service,
  caller: OperationCaller,
  task: TaskStream,
): AsyncGenerator<StreamResponse, void, void> {
  const release = service.holdStream(caller.principal)
  try {
    yield* heldUpdates(service, caller, task)
  } finally {
    release()
  }
}

async function* heldUpdates(
  service: Service,
  caller: OperationCaller,
  task: TaskStream,
): AsyncGenerator<StreamResponse, void, void> {
  const { principal, signal } = caller
  const { run, beginning } = task
  const projection = streamProjection(beginning)
  let state = projection.initial(run)
  const { first } = await service.startReading(principal, run.id)
  for (let after = Math.max(START, first - 1); !signal.aborted;) {
    const slice = await service.read(principal, run.id, after)
    if (slice === undefined) {
      if (service.closed)
        throw new HoldfastError('unavailable', 'the server ends this stream; the task continues: subscribe again')
      await service.waitForMore(principal, run.id, after, service.limits.longPollTimeoutMs, signal)
      continue
    }
    for (const event of events(slice)) {
      const projected = projection.apply(state, event)
      state = projected.state
      for (const frame of projected.frames) {
        yield responseOf(frame, caller, task)
        if (frame.last) return
      }
    }
    if (slice.closed) return
    after = lastOf(slice)
  }
}
