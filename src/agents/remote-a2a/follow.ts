/** Follows a remote task to where it ends or waits, whatever becomes of its streams. */
import { type Emission, WorkFailure } from '../../core/agent.ts'
import { pause } from '../shared/pause.ts'
import { Patience, RemoteError, type RetryOptions } from '../shared/remote.ts'
import { type A2aClient, RpcError, TASK_NOT_FOUND } from './client.ts'
import type { ShownTask } from './shown.ts'
import type { Update } from './wire.ts'

export interface FollowOptions extends RetryOptions {
  readonly client: A2aClient
  readonly signal: AbortSignal
  readonly pollMs: number
}

/** A stream that ends before the task is settled was cut, however orderly it ended: the task is asked for again. */
export async function* follow(
  task: string,
  opened: AsyncIterable<Update> | undefined,
  shown: ShownTask,
  options: FollowOptions,
): AsyncGenerator<Emission, void, void> {
  const patience = new Patience(options, options.signal)
  for (let updates = opened; ; updates = undefined) {
    try {
      for await (const update of updates ?? reopened(task, options)) {
        patience.reset()
        yield* shown.add(update)
        if (shown.settled) return
      }
      throw new RemoteError('the stream ended before the task did')
    } catch (thrown) {
      await patience.wait(asRemote(thrown))
    }
  }
}

/** By its stream; where that is refused, which is so once a task has ended, by asking how it is. */
async function* reopened(task: string, { client, signal, pollMs }: FollowOptions): AsyncGenerator<Update, void, void> {
  if (client.streaming) {
    try {
      yield* client.subscribe(task)
      return
    } catch (thrown) {
      if (!(thrown instanceof RpcError) || thrown.code === TASK_NOT_FOUND) throw thrown
    }
  }
  for (;;) {
    yield { type: 'task', task: await client.get(task) }
    await pause(pollMs, signal)
  }
}

function asRemote(thrown: unknown): unknown {
  if (!(thrown instanceof RpcError)) return thrown
  const { code, message } = thrown
  return new WorkFailure({ code: 'agent_failed', message: `the remote agent: ${message}`, details: { rpcCode: code } })
}
