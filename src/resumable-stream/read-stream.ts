/** A run's text as a stream: a cursor on the log, which reads when its consumer does. */
import type { RunHandle } from '../client/run.ts'

/**
 * Ends when the run has completed, and errors with `RunError` when it ended otherwise, after everything that was written. Cancelling
 * it, or aborting `signal`, ends this reader only.
 */
export function readStream(run: RunHandle, skipCharacters: number, signal: AbortSignal): ReadableStream<string> {
  const cancelled = new AbortController()
  const events = run.events({ signal: AbortSignal.any([signal, cancelled.signal]) })[Symbol.asyncIterator]()
  let skip = skipCharacters
  const next = async (): Promise<string | undefined> => {
    for (;;) {
      const { done, value: event } = await events.next()
      if (done === true) {
        await run.result({ signal }) // throws unless it has completed
        return undefined
      }
      if (event.type !== 'text.delta') continue
      const rest = event.data.text.slice(skip)
      skip -= event.data.text.length - rest.length
      if (rest !== '') return rest
    }
  }
  return new ReadableStream<string>(
    {
      async pull(controller) {
        const text = await next()
        if (text === undefined) controller.close()
        else controller.enqueue(text)
      },
      cancel: () => cancelled.abort(),
    },
    { highWaterMark: 0 },
  )
}
