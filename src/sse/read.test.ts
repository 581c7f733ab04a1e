import { expect, test } from 'vitest'
import { eventsIn, piecesOf, type ReadOptions } from './read.ts'

/** A body in these pieces, and whether it was cancelled. */
function bodyOf(pieces: readonly Uint8Array[]): { body: ReadableStream<Uint8Array>; gaveUp: () => boolean } {
  let cancelled = false
  const rest = [...pieces]
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      const next = rest.shift()
      if (next === undefined) controller.close()
      else controller.enqueue(next)
    },
    cancel: () => void (cancelled = true),
  })
  return { body, gaveUp: () => cancelled }
}

const atOnce = <Piece>(piece: Promise<Piece>): Promise<Piece> => piece

async function dataIn(pieces: readonly Uint8Array[], options?: ReadOptions): Promise<string[]> {
  const data: string[] = []
  for await (const event of eventsIn(piecesOf(bodyOf(pieces).body, atOnce), options)) data.push(event.data)
  return data
}

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

test('[SUB-2] SSE: a body has the same events wherever it is cut, also within a character', async () => {
  const whole = bytes('data: é漢😀\n\ndata: b\n\n')
  for (let cut = 0; cut <= whole.length; cut++)
    expect(await dataIn([whole.subarray(0, cut), whole.subarray(cut)])).toEqual(['é漢😀', 'b'])
})

test('SSE: a response without a body has no events', async () => {
  for await (const piece of piecesOf(null, atOnce)) expect.unreachable(String(piece))
})

test('SSE: invalid UTF-8 is replaced, or an error on request', async () => {
  const broken = [bytes('data: a'), Uint8Array.of(0xff), bytes('\n\n')]
  expect(await dataIn(broken)).toEqual(['a\ufffd'])
  await expect(dataIn(broken, { fatal: true })).rejects.toThrow(TypeError)
})

test('SSE: a reader that stops or aborts cancels the body', async () => {
  const left = bodyOf([bytes('data: a\n\n'), bytes('data: b\n\n')])
  for await (const { data } of eventsIn(piecesOf(left.body, atOnce))) {
    expect(data).toBe('a')
    break
  }
  expect(left.gaveUp()).toBe(true)
  const silent = bodyOf([bytes('data: a\n\n')])
  const late = (): Promise<never> => Promise.reject(new Error('too late'))
  await expect(piecesOf(silent.body, late).next()).rejects.toThrow('too late')
  expect(silent.gaveUp()).toBe(true)
})

test('SSE: an oversized frame and the retry delay are reported', async () => {
  await expect(dataIn([bytes(`data: ${'x'.repeat(100)}\n\n`)], { maxChars: 50 })).rejects.toThrow('longer than 50')
  const retries: number[] = []
  await dataIn([bytes('retry: 1500\n\n')], { retry: (milliseconds) => retries.push(milliseconds) })
  expect(retries).toEqual([1500])
})
