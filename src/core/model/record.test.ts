import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { digestOfBody, digestOfEnvelope } from '../recovery/emitted-output.ts'
import type { Event, LoggedEvent } from './event.ts'
import { encodeBody, encodeRecord, encodeTextBody } from './record.ts'
import {
  envelopeRecords,
  events,
  lastOf,
  parseEnvelope,
  rawRecords,
  type Slice,
  sliceAfter,
  sliceBefore,
  lastMark,
  markOf,
  sliceOf,
  sliceWithin,
} from './slice.ts'
import { anyCharacter } from '../../testing/any-character.ts'

const bounds = { maxDepth: 20, maxBytes: 1024 * 1024 }
const time = '2026-01-01T00:00:00.000Z'

function record(index: number, event: Event): string {
  return encodeRecord('run_1', index, time, event.type, encodeBody(event, bounds))
}

function texts(first: number, list: readonly string[], closed = false): Slice {
  return sliceOf(
    first,
    list.map((text, position) => record(first + position, { type: 'text.delta', data: { text } })),
    closed,
  )
}

function textsOf(slice: Slice): string[] {
  return events(slice).map((event) => (event.data as { text: string }).text)
}

/** Texts that would break a log whose records were found by searching for their content. */
const hostile: readonly string[] = [
  '',
  '\n\n',
  '\r\n\r\n',
  'a\n\nid: 3\nevent: run.completed\ndata: {}\n\n',
  '\n\nid: 4\n',
  'data: x\nid: 2\n\n:',
  '\u2028\u2029\u0085\u000b\u000c\0\u001f',
  '\ufeff',
  '😀 é ñ 漢 \u{10ffff}',
  '\ud800 and \udfff alone',
  '"type":"run.failed","data":{}}',
  '\\n\\nid: 5\\n "quoted" \\',
  '</script><!--',
]

describe('records: a record', () => {
  test('is the frame of the native protocol', () => {
    expect(record(7, { type: 'text.delta', data: { text: 'hi' } })).toBe(
      `id: 7\nevent: text.delta\ndata: {"run":"run_1","index":7,"time":"${time}","type":"text.delta","data":{"text":"hi"}}\n\n`,
    )
  })

  test('has its actor before its data', () => {
    const actor = { component: 'helper', run: 'run_2', parent: 'run_1' } as const
    const written = record(1, { type: 'text.delta', data: { text: 'hi' }, actor })
    expect(written).toContain(
      '"type":"text.delta","actor":{"component":"helper","run":"run_2","parent":"run_1"},"data":{"text":"hi"}}\n\n',
    )
    expect(events(sliceOf(1, [written], false))).toEqual([
      { run: 'run_1', index: 1, time, type: 'text.delta', actor, data: { text: 'hi' } },
    ])
  })

  test('has the same body from encodeTextBody as from encodeBody', () => {
    for (const text of hostile) {
      expect(encodeTextBody(text, bounds)).toBe(encodeBody({ type: 'text.delta', data: { text } }, bounds))
    }
  })

  test.each([[undefined], [null], ['text'], [1]])('[EVT-1] requires an object as its data, not %s', (data) => {
    const event = { type: 'custom.emitted', data } as unknown as Event
    expect(() => encodeBody(event, bounds)).toThrow('data is not an object')
  })

  test('[EVT-1] reports the path that cannot be serialized', () => {
    const actor = { component: 'helper', run: 1n, self: () => {} }
    const event = { type: 'text.delta', data: { text: 'hi' }, actor } as unknown as Event
    expect(() => encodeBody(event, bounds)).toThrow('actor.self is a function')
  })
})

describe('[LOG-5] records: a slice returns the records that were put in', () => {
  test('any text is returned unchanged', () => {
    const slice = texts(0, hostile)
    expect(textsOf(slice)).toEqual(hostile)
    expect(rawRecords(slice).map(({ index, type }) => ({ index, type }))).toEqual(
      hostile.map((_, index) => ({ index, type: 'text.delta' })),
    )
  })

  test('bodies equal those that were written', () => {
    const bodies = hostile.map((text) => encodeTextBody(text, bounds))
    expect(rawRecords(texts(3, hostile)).map(({ envelope }) => digestOfEnvelope(envelope))).toEqual(
      bodies.map(digestOfBody),
    )
  })

  test('any events are returned unchanged', () => {
    const event = fc.oneof(
      fc.record({ type: fc.constant('text.delta'), data: fc.record({ text: fc.string({ unit: anyCharacter }) }) }),
      fc.record({ type: fc.constant('custom.emitted'), data: fc.record({ name: fc.string(), value: fc.jsonValue() }) }),
    )
    fc.assert(
      fc.property(fc.array(event, { minLength: 1 }), fc.nat(1000), (list, first) => {
        const records = list.map((each, position) => record(first + position, each as Event))
        const logged = list.map((each, position) => ({ run: 'run_1', index: first + position, time, ...each }))
        expect(events(sliceOf(first, records, false))).toEqual(JSON.parse(JSON.stringify(logged)) as LoggedEvent[])
      }),
    )
  })

  test('a slice whose content does not match its count is rejected', () => {
    expect(() => rawRecords({ ...texts(0, ['a', 'b']), count: 3 })).toThrow('a slice of 3 records holds 2')
  })
})

describe('[SUB-2] records: a slice is cut at record boundaries', () => {
  // Indexes of one, two and three digits: `1`, `11` and `111` must not be confused.
  const cases: readonly (readonly [string, Slice])[] = [
    ['from the start', texts(0, hostile)],
    [
      'from ten to a hundred',
      texts(
        8,
        Array.from({ length: 95 }, (_, index) => hostile[index % hostile.length]!),
      ),
    ],
    ['closed', texts(5, hostile, true)],
    ['of one record', texts(11, ['\n\nid: 11\n'], true)],
  ]

  test.each(cases)('sliceAfter cuts after every index: %s', (_, slice) => {
    const all = textsOf(slice)
    for (let after = slice.first - 1; after <= lastOf(slice); after++) {
      const kept = all.slice(after + 1 - slice.first)
      const cut = sliceAfter(slice, after)
      expect(textsOf(cut)).toEqual(kept)
      expect(cut).toMatchObject({ first: after + 1, count: kept.length, closed: slice.closed })
    }
  })

  test.each(cases)('sliceBefore cuts before every index: %s', (_, slice) => {
    const all = textsOf(slice)
    for (let before = slice.first; before <= lastOf(slice) + 1; before++) {
      const kept = all.slice(0, before - slice.first)
      const cut = sliceBefore(slice, before)
      expect(textsOf(cut)).toEqual(kept)
      expect(cut).toMatchObject({ first: slice.first, count: kept.length })
      expect(cut.closed).toBe(slice.closed && before > lastOf(slice))
    }
  })

  test.each(cases)('sliceWithin cuts at every relevant number of bytes: %s', (_, slice) => {
    const ends = rawRecords(slice).map(({ index }) => sliceBefore(slice, index + 1).bytes.length)
    for (const maxBytes of [0, 1, ...ends.flatMap((end) => [end - 1, end, end + 1])]) {
      const count = Math.max(ends.filter((end) => end <= maxBytes).length, 1)
      const cut = sliceWithin(slice, maxBytes)
      expect(cut).toMatchObject({ first: slice.first, count, closed: slice.closed && count === slice.count })
      expect(cut.bytes.length).toBe(ends[count - 1])
    }
  })

  test('the parts before and after any index add up to the whole slice', () => {
    const slice = texts(3, hostile, true)
    for (let index = slice.first; index <= lastOf(slice); index++) {
      const parts = [sliceBefore(slice, index).bytes, sliceAfter(slice, index - 1).bytes]
      expect(Buffer.concat(parts).equals(slice.bytes)).toBe(true)
    }
  })
})

describe('records: the mark of the last record', () => {
  const first = encodeRecord('run_1', 0, time, 'text.delta', encodeTextBody('first', bounds))
  const marked = (at: string, text: string): string =>
    lastMark(sliceOf(0, [first, encodeRecord('run_1', 1, at, 'text.delta', encodeTextBody(text, bounds))], false))

  test.each([1, 1000, 1024, 2048, 100_000])('depends on its time, its start, its end and its length: %d', (length) => {
    const text = 'x'.repeat(length)
    const others = [
      marked('2026-01-01T00:00:00.001Z', text),
      marked(time, `y${text.slice(1)}`),
      marked(time, `${text.slice(0, -1)}y`),
      marked(time, `${text}x`),
    ]
    expect(others).not.toContain(marked(time, text))
    expect(marked(time, text)).toBe(marked(time, text))
  })

  test('does not depend on what comes before it', () => {
    const last = encodeRecord('run_1', 1, time, 'text.delta', encodeTextBody('text', bounds))
    expect(lastMark(sliceOf(1, [last], false))).toBe(lastMark(sliceOf(0, [first, last], false)))
  })

  test('is the same by its envelope, whatever its length and its characters', () => {
    for (const text of ['a', 'Grüße', '👋'.repeat(400), 'x'.repeat(3000), 'é'.repeat(1500)]) {
      const slice = sliceOf(0, [encodeRecord('run_1', 0, time, 'text.delta', encodeTextBody(text, bounds))], false)
      expect(markOf(rawRecords(slice)[0]!.envelope)).toBe(lastMark(slice))
    }
  })
})

describe('records: an envelope', () => {
  const output = [
    '',
    'word ',
    '"',
    '\\',
    'a\\"b',
    '"}}',
    '\n\n',
    'Grüße 🌊',
    '\u2028',
    '{"text":"x"}',
    'x'.repeat(5000),
  ]
  const actor = { component: 'c', run: 'run_1/a' }
  const cases = output.flatMap((text): Event[] => [
    { type: 'text.delta', data: { text } },
    { type: 'text.delta', data: { text, message: 'm"1' } },
    { type: 'text.delta', data: { text }, actor },
    { type: 'text.completed', data: { message: text } },
  ])
  const slice = sliceOf(
    0,
    cases.map((event, index) => record(index, event)),
    false,
  )

  test('is found in its slice', () => {
    const found = envelopeRecords(slice)
    expect(found.map(({ index, envelope }) => ({ index, envelope }))).toEqual(
      rawRecords(slice).map(({ index, envelope }) => ({ index, envelope })),
    )
    const ascii = found.filter(({ isAscii }) => isAscii)
    for (const { envelope } of ascii) expect(envelope).toMatch(/^[ -~]*$/)
  })

  test('is found in a slice of many, wherever it is cut to be decoded', () => {
    for (let extra = 0; extra < 40; extra++) {
      const written = Array.from({ length: 200 }, (_, index) => 'ü\n\nx'.repeat(index === 0 ? extra : index % 90))
      const many = sliceOf(
        7,
        written.map((text, at) => record(7 + at, { type: 'text.delta', data: { text } })),
        false,
      )
      expect(envelopeRecords(many).map(({ envelope }) => (JSON.parse(envelope) as LoggedEvent).data)).toEqual(
        written.map((text) => ({ text })),
      )
    }
  })

  test('is parsed as JSON is, whatever its text', () => {
    for (const { index, envelope } of envelopeRecords(slice))
      expect(parseEnvelope(envelope, 'run_1', index)).toEqual(JSON.parse(envelope))
  })
})
