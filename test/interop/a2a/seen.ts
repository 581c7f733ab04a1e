/** Records what a consumer of Holdfast's client receives over a network that cuts streams at any point. */
import { type SendResult, type Task, textOf, type TaskUpdate } from '../../../src/a2a/index.ts'

export async function collected(updates: AsyncIterable<TaskUpdate>, into: TaskUpdate[] = []): Promise<TaskUpdate[]> {
  for await (const update of updates) into.push(update)
  return into
}

export function taskOf(result: SendResult): Task {
  if ('task' in result) return result.task
  throw new Error('a message where a task was awaited')
}

export function textsOf({ artifacts = [] }: Task): string {
  return artifacts.map(({ parts }) => textOf(parts)).join('')
}

/** The text of one artifact, with updates applied as A2A specifies. */
export function textOfUpdates(updates: readonly TaskUpdate[]): string {
  let text = ''
  for (const update of updates) {
    if ('task' in update) text = textsOf(update.task)
    if (!('artifactUpdate' in update)) continue
    const { artifact, append = false } = update.artifactUpdate
    text = (append ? text : '') + textOf(artifact.parts)
  }
  return text
}

/** Ends the streams after `cuts` bytes each, with an error or like a regular end. */
export function cutting(cuts: number[], how: 'break' | 'end'): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, init)
    const isStream = (response.headers.get('content-type') ?? '').startsWith('text/event-stream')
    let left = isStream ? (cuts.shift() ?? Infinity) : Infinity
    const body = response.body?.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(bytes, controller) {
          controller.enqueue(bytes.slice(0, left))
          left -= bytes.length
          if (left > 0) return
          if (how === 'end') controller.terminate()
          else controller.error(new Error('cut'))
        },
      }),
    )
    return new Response(body ?? null, { status: response.status, headers: response.headers })
  }
}
