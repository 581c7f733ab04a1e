/** Parsers of streams and cursors: any input is parsed, or rejected with the documented error. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { ClientError, createClient } from '../../src/client/index.ts'
import { parseCursor } from '../../src/core/model/cursor.ts'
import { isHoldfastError } from '../../src/core/model/errors.ts'
import { positionOf } from '../../src/core/model/page.ts'
import { parseCheckedCursor } from '../../src/protocols/native/requests/checked-cursor.ts'
import { parseResponseId } from '../../src/protocols/openai/wire/ids.ts'
import { EventParser, FrameTooLargeError, type ParsedEvent } from '../../src/sse/index.ts'
import { assertHolds, fuzzSeconds, fuzzTimeoutMs } from './check.ts'
import { withTimeout } from './timeout.ts'
import { json, jsonText, text } from './values.ts'

const seconds = fuzzSeconds(2)

/** Pieces of event streams, whole and broken. */
const piece = fc.oneof(
  fc.constantFrom(
    'data:',
    'data: ',
    'event: ',
    'id: ',
    'retry: ',
    ':',
    '\n',
    '\r',
    '\r\n',
    '\n\n',
    ' ',
    '\0',
    '\ufeff',
  ),
  fc.constantFrom('stream.gap', 'stream.closing', 'stream.failed', 'text.delta', 'run.completed'),
  text,
  fc.integer().map(String),
)

function parsed(chunks: readonly string[], maxChars?: number): (ParsedEvent | string | number)[] {
  const seen: (ParsedEvent | string | number)[] = []
  const parser = new EventParser(
    {
      event: (event) => void seen.push(event),
      comment: (comment) => void seen.push(`: ${comment}`),
      retry: (milliseconds) => void seen.push(milliseconds),
    },
    maxChars,
  )
  for (const chunk of chunks) parser.push(chunk)
  return seen
}

test('fuzz: an event stream is parsed the same however it is cut', { timeout: fuzzTimeoutMs(seconds) }, async () => {
  const streams = fc.record({
    pieces: fc.array(piece, { maxLength: 40 }),
    cuts: fc.array(fc.nat(400), { maxLength: 10 }),
  })
  await assertHolds('SSE cuts', streams, seconds, ({ pieces, cuts }) => {
    const whole = pieces.join('')
    const places = [0, ...cuts.map((cut) => cut % (whole.length + 1)), whole.length].toSorted((a, b) => a - b)
    const chunks = places.slice(1).map((place, at) => whole.slice(places[at], place))
    expect(parsed(chunks)).toEqual(parsed([whole]))
  })
})

test('fuzz: an event stream is parsed, or rejected as too large', { timeout: fuzzTimeoutMs(seconds) }, async () => {
  await assertHolds('SSE bounds', fc.array(piece, { maxLength: 60 }), seconds, (pieces) => {
    expect(largestIn(pieces, 100)).toBeLessThanOrEqual(100)
  })
})

/** Characters of the largest event, up to where the stream is refused. */
function largestIn(pieces: readonly string[], maxChars: number): number {
  try {
    return Math.max(0, ...parsed(pieces, maxChars).map((seen) => (typeof seen === 'object' ? seen.data.length : 0)))
  } catch (cause) {
    if (!(cause instanceof FrameTooLargeError)) throw cause
    return 0
  }
}

const RUN = 'run_fuzzed'

/** Frames of a log, most of them where they belong, with others between them. */
const frame = fc.oneof(
  {
    weight: 4,
    arbitrary: fc
      .record({
        index: fc.oneof({ weight: 3, arbitrary: fc.nat(3) }, { weight: 1, arbitrary: json }),
        type: fc.constantFrom('run.created', 'text.delta', 'tool.started', 'run.completed', 'run.failed'),
        run: fc.oneof({ weight: 6, arbitrary: fc.constant<unknown>(RUN) }, { weight: 1, arbitrary: json }),
        data: fc.oneof(fc.constant<unknown>({ text: 'kelp' }), fc.constant<unknown>({}), json),
      })
      .map(({ index, type, ...rest }) => {
        const data = JSON.stringify({ index, type, time: '2026-01-01T00:00:00.000Z', ...rest })
        return `id: ${JSON.stringify(index)}\nevent: ${type}\ndata: ${data}\n\n`
      }),
  },
  {
    weight: 2,
    arbitrary: fc
      .tuple(
        fc.constantFrom('stream.gap', 'stream.closing', 'stream.failed', 'stream.other'),
        fc.oneof(
          json,
          fc.record({ earliest: json }),
          fc.record({ retryMs: json, reason: json }),
          fc.record({ code: json, message: json, retryable: json }),
        ),
      )
      .map(([event, data]) => `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
  },
  { weight: 1, arbitrary: fc.array(piece, { maxLength: 6 }).map((pieces) => pieces.join('')) },
)

const answer = fc.record({
  status: fc.oneof(
    { weight: 8, arbitrary: fc.constant(200) },
    { weight: 1, arbitrary: fc.constantFrom(204, 400, 410, 500) },
  ),
  type: fc.oneof(
    { weight: 8, arbitrary: fc.constant('text/event-stream') },
    { weight: 1, arbitrary: fc.constantFrom('application/json', 'text/html', '') },
  ),
  frames: fc.array(frame, { maxLength: 8 }),
  page: fc.oneof(json, fc.record({ events: json, cursor: json, done: json })),
})

test(
  'fuzz: a client ends a broken server’s stream with its own error',
  { timeout: fuzzTimeoutMs(seconds) },
  async () => {
    await assertHolds('client', fc.array(answer, { minLength: 1, maxLength: 4 }), seconds, async (answers) => {
      let requested = 0
      const client = createClient({
        url: 'http://localhost',
        retries: 2,
        retryDelayMs: 1,
        fetch: async (address) => {
          const { status, type, frames, page } = answers[requested++ % answers.length]!
          const isPage =
            new URL(address instanceof Request ? address.url : address).searchParams.get('format') === 'json'
          const body = isPage ? jsonText(page) : frames.join('')
          const contentType = isPage ? 'application/json' : type
          return new Response(status === 204 ? null : body, { status, headers: { 'content-type': contentType } })
        },
      })
      await withTimeout(
        holdsTo(client.runs.open(RUN).events({ signal: AbortSignal.timeout(300) })),
        30_000,
        'the client did not end',
      )
    })
  },
)

/** Events arrive in order and belong to the run; the stream ends properly, or with an error that callers can distinguish. */
async function holdsTo(events: AsyncIterable<{ readonly run: string; readonly index: number }>): Promise<void> {
  let next = 0
  try {
    for await (const { run, index } of events) {
      expect({ run, index }).toEqual({ run: RUN, index: next++ })
    }
  } catch (cause) {
    const isOurs = cause instanceof ClientError || (cause as Error).name === 'TimeoutError'
    if (!isOurs) throw cause
  }
}

const cursorText = fc.oneof(
  text,
  fc
    .tuple(text, fc.constantFrom(':', '~', '~cbf43926', '_'), fc.oneof(text, fc.integer().map(String)))
    .map((all) => all.join('')),
  fc.integer().map(String),
  fc.string({ unit: fc.constantFrom('run_', ':', '~', '-', '1', '0', 'a', '٣', '\n'), maxLength: 20 }),
)

/** A refusal, or a value. */
function read<Value>(parse: () => Value): Value | undefined {
  try {
    return parse()
  } catch (cause) {
    if (!isHoldfastError(cause) || cause.status >= 500) throw cause
    return undefined
  }
}

test('fuzz: a cursor is a position, or rejected', { timeout: fuzzTimeoutMs(seconds) }, async () => {
  await assertHolds('cursors', cursorText, seconds, (given) => {
    const positions = [
      read(() => parseCursor(given, RUN)),
      read(() => parseCheckedCursor(given, RUN).index),
      parseResponseId(given)?.number,
    ]
    expect(positions.filter((position) => position !== undefined && !isPosition(position))).toEqual([])
    expect(read(() => positionOf(given).id)).not.toBe('')
  })
})

function isPosition(value: number): boolean {
  return Number.isSafeInteger(value) && value >= -1
}
