import { describe, expect, test } from 'vitest'
import { assertSeenIsInLog, checkedEnd, checkedRecords, numbersIn, standingTexts } from './checker.ts'

const created = record(0, 'run.created', { component: 'lab' })
const started = record(1, 'run.started', { attempt: 1 })
const text = record(2, 'text.delta', { text: '[0] kelp ' })
const completed = record(3, 'run.completed', {})
const good = [created, started, text, completed]

describe('log checker of the tests', () => {
  test('accepts a log that is right', () => {
    expect(checkedEnd('run_1', log(good)).map(({ type }) => type)).toEqual([
      'run.created',
      'run.started',
      'text.delta',
      'run.completed',
    ])
  })

  const wrong: Readonly<Record<string, readonly [readonly string[], RegExp]>> = {
    'a gap': [[created, started, completed], /record 2: its first line is "id: 3"/],
    'a repeat': [[created, started, started, text, completed], /record 2: its first line is "id: 1"/],
    'two records in the wrong order': [[created, text, started, completed], /record 1: its first line/],
    'a record of another run': [[created, record(1, 'run.started', {}, { run: 'run_2' })], /belongs to run run_2/],
    'an id that is not its index': [[created, record(1, 'run.started', {}, { index: 7 })], /calls itself 7/],
    'a name that is not its type': [
      [created, started.replace('event: run.started', 'event: text.delta')],
      /is not its type/,
    ],
    'half a record': [[created, started.slice(0, -1)], /middle of a record/],
    'a line too many': [[created.replace('\ndata: ', '\nid: 0\ndata: ')], /not a frame of three lines/],
    'no end': [[created, started, text], /0 terminal events/],
    'two ends': [[created, started, text, completed, record(4, 'run.failed', {})], /2 terminal events/],
    'something after the end': [
      [created, started, completed.replaceAll('3', '2'), record(3, 'text.delta', {})],
      /has events after its end/,
    ],
    'no beginning': [[record(0, 'run.started', {}), record(1, 'run.completed', {})], /begins with run.started/],
  }

  test.each(Object.entries(wrong))('refuses %s', (_what, [records, complaint]) => {
    expect(() => checkedEnd('run_1', log(records))).toThrow(complaint)
  })

  test('takes what a client saw for a beginning of the log, from its cursor on', () => {
    assertSeenIsInLog('run_1', log(good.slice(0, 2)), log(good))
    assertSeenIsInLog('run_1', log(good.slice(2)), log(good), 1)
    assertSeenIsInLog('run_1', Buffer.from(text.slice(0, 20)), log(good), 1)
    assertSeenIsInLog('run_1', log([]), log(good), 3)
    expect(() => assertSeenIsInLog('run_1', log([text, completed]), log(good), 0)).toThrow('a client saw')
    expect(() => assertSeenIsInLog('run_1', log([text.replace('kelp', 'tide')]), log(good), 1)).toThrow('a client saw')
    expect(() => assertSeenIsInLog('run_1', log(good), log(good.slice(0, 3)))).toThrow('a client saw')
    expect(() => assertSeenIsInLog('run_1', log([]), log(good), 4)).toThrow('the log does not')
  })

  test('leaves out texts that were retracted', () => {
    const records = [
      created,
      started,
      text,
      record(3, 'attempt.discarded', { from: 2 }),
      record(4, 'text.delta', { text: '[0] tide ' }),
      record(5, 'text.delta', { text: 'no number' }),
      record(6, 'text.delta', { text: '[1] rope ' }),
    ]
    const standing = standingTexts(checkedRecords('run_1', log(records)))
    expect(standing).toEqual(['[0] tide ', 'no number', '[1] rope '])
    expect(numbersIn(standing)).toEqual([0, 1])
  })
})

function record(index: number, type: string, data: object, change: object = {}): string {
  const envelope = { run: 'run_1', index, time: '2026-01-01T00:00:00.000Z', type, data, ...change }
  return `id: ${index}\nevent: ${type}\ndata: ${JSON.stringify(envelope)}\n\n`
}

function log(records: readonly string[]): Buffer {
  return Buffer.from(records.join(''))
}
