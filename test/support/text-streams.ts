/** Text streams for `resumable-stream`. */

export function streamOf(...chunks: readonly unknown[]): ReadableStream<string> {
  return new ReadableStream<string>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk as string)
      controller.close()
    },
  })
}

export async function textOf(stream: ReadableStream<string> | null | undefined): Promise<string> {
  let text = ''
  for await (const piece of stream!) text += piece
  return text
}

/** The output of a stream before its error, and the error. Throws if it ends without one. */
export async function untilError(
  stream: ReadableStream<string> | null | undefined,
): Promise<{ readonly text: string; readonly error: unknown }> {
  let text = ''
  try {
    for await (const piece of stream!) text += piece
  } catch (error) {
    return { text, error }
  }
  throw new Error(`the stream ended without an error after ${JSON.stringify(text.slice(0, 100))}`)
}
