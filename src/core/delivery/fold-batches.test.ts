import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Actor, Event, LoggedEvent } from '../model/event.ts'
import { encodeBody, encodeRecord } from '../model/record.ts'
import { events, sliceOf } from '../model/slice.ts'
import type { TextStretch } from '../ports/projection.ts'
import { batchesOf, foldBatch, itemsOf } from './fold-batches.ts'
import { anyCharacter } from '../../testing/any-character.ts'

const RUN = 'run_1'
const bounds = { maxDepth: 20, maxBytes: 1024 * 1024 }
const words = fc.oneof(
  fc.constantFrom('', 'word ', '"quoted" ', '\\', '\\"', 'a\n\nb', '"}}', '","message":"m1'),
  fc.string({ unit: anyCharacter, maxLength: 12 }),
)
const actor: Actor = { component: 'facts', run: `${RUN}/a1`, parent: RUN }
const text = fc.record({ text: words, message: words }, { requiredKeys: ['text'] })
const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 6, arbitrary: text.map((data): Event => ({ type: 'text.delta', data })) },
  text.map(({ text: output, message = '' }): Event => ({ type: 'text.delta', data: { message, text: output } })),
  text.map((data): Event => ({ type: 'text.delta', actor, data })),
  // Looks like a text inside of its data.
  text.map((data): Event => ({ type: 'custom.emitted', data: { name: 'x', value: { type: 'text.delta', data } } })),
  fc.constant<Event>({ type: 'text.completed', data: { message: 'm1' } }),
)

test('fold batches: all events of the log are folded, whatever their texts and the batch size', () => {
  fc.assert(
    fc.property(fc.array(event, { minLength: 1, maxLength: 60 }), fc.integer({ min: 1, max: 40 }), (list, atOnce) => {
      const timeOf = (index: number): string => new Date(index * 7).toISOString()
      const records = list.map((each, at) => {
        const index = 95 + at
        return encodeRecord(RUN, index, timeOf(index), each.type, encodeBody(each, bounds))
      })
      const slice = sliceOf(95, records, false)
      const seen: LoggedEvent[] = []
      const collect = {
        initial: () => 0,
        apply: (state: number, logged: LoggedEvent) => (seen.push(logged), { state: state + 1, frames: [] }),
      }
      let count = 0
      for (const batch of batchesOf(slice, RUN, atOnce)) {
        count = foldBatch(collect, count, batch)
        expect(JSON.parse(batch.envelope)).toEqual(seen.at(-1))
        expect(batch.last).toBe(seen.at(-1)!.index)
        expect(batch.items.length).toBeLessThanOrEqual(atOnce)
      }
      expect(seen).toEqual(events(slice))
      const stretches = itemsOf(slice, RUN).items.filter((item) => 'texts' in item)
      for (const { texts, jsons } of stretches) expect(jsons).toEqual(texts.map((output) => JSON.stringify(output)))
      expect(count).toBe(list.length)
    }),
  )
})

test('fold batches: consecutive texts are folded together, up to another message or event', () => {
  const list: Event[] = [
    { type: 'text.delta', data: { text: 'a' } },
    { type: 'text.delta', data: { text: 'b "c"' } },
    { type: 'text.delta', data: { text: 'd', message: 'm1' } },
    { type: 'text.completed', data: { message: 'm1' } },
    { type: 'text.delta', data: { text: 'e' } },
  ]
  const records = list.map((each, index) => encodeRecord(RUN, index, TIME, each.type, encodeBody(each, bounds)))
  const stretches: unknown[] = []
  const projection = {
    initial: () => 0,
    apply: (state: number) => ({ state, frames: [] }),
    applyTexts: (
      state: number,
      { first, texts, message }: { first: number; texts: readonly string[]; message?: unknown },
    ) => {
      stretches.push([first, [...texts], message])
      return { state, frames: () => [] }
    },
  }
  for (const batch of batchesOf(sliceOf(0, records, false), RUN, 32)) foldBatch(projection, 0, batch)
  expect(stretches).toEqual([
    [0, ['a', 'b "c"'], undefined],
    [2, ['d'], 'm1'],
    [4, ['e'], undefined],
  ])
})

test('text JSON: it equals JSON.stringify, however the log writes it', () => {
  const written = [
    '"a \\/ b"',
    '"\\u0041"',
    '"\\u00e9\\n"',
    '"\\\\/"',
    '"plain"',
    '"\\"q\\" \\\\u0041"',
    '"\\ud83d"',
    '"é"',
  ]
  const records = written.map((json, index) =>
    encodeRecord(RUN, index, TIME, 'text.delta', `"type":"text.delta","data":{"text":${json}}}\n\n`),
  )
  const { items } = itemsOf(sliceOf(0, records, false), RUN)
  const [stretch] = items as readonly TextStretch[]
  expect(items).toHaveLength(1)
  expect(stretch!.texts).toEqual(written.map((json) => JSON.parse(json) as string))
  expect(stretch!.jsons).toEqual(stretch!.texts.map((output) => JSON.stringify(output)))
})

const TIME = '2026-01-01T00:00:00.000Z'
