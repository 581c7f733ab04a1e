import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { createEvent } from '../ports/component.ts'
import { type Event, eventTable, type EventType, isEventType, isTerminal } from './event.ts'

const page = readFileSync(new URL('../../../docs/events.md', import.meta.url), 'utf8')
const source = readFileSync(new URL('event.ts', import.meta.url), 'utf8')
const types = Object.keys(eventTable).filter(isEventType)

/** Rows of every table of the page with these headings. */
function rowsOf(headings: readonly string[]): string[][] {
  const found: string[][] = []
  let within = false
  for (const line of page.split('\n')) {
    const cells = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim())
    if (cells.length === 0) within = false
    else if (cells.join() === headings.join()) within = true
    else if (within && !cells[0]!.startsWith('---')) found.push(cells)
  }
  return found
}

/** The fields of each type as `EventData` declares them; one that may be absent ends with `?`. */
function declaredFields(): Map<string, string[]> {
  const [, body] = /export interface EventData \{\n(.*?)\n\}\n/s.exec(source)!
  const declared = new Map<string, string[]>()
  for (const [, type, fields] of body!.matchAll(/^ {2}'([a-z.]+)': \{(.*?)\}$/gms)) {
    declared.set(
      type!,
      [...fields!.matchAll(/readonly (\w+\??):/g)].map(([, field]) => field!),
    )
  }
  return declared
}

describe('docs/events.md', () => {
  const rows = rowsOf(['type', 'effect', 'written by', 'data', 'meaning'])

  test('lists every event type of the table, and no other', () => {
    expect(rows.map(([type]) => type)).toEqual(types.map((type) => `\`${type}\``))
  })

  test('has the effect of every type on its run, and whether an agent may emit it', () => {
    const documented = rows.map(([type, effect, by]) => [type!.slice(1, -1), effect, by])
    const actual = types.map((type) => [type, eventTable[type].effect, eventTable[type].agent ? 'agent' : 'Holdfast'])
    expect(documented).toEqual(actual)
  })

  test('lists the fields of every type, and no others', () => {
    const declared = declaredFields()
    expect([...declared.keys()]).toEqual(types)
    for (const [type, , , data] of rows) {
      expect([type, data!.replaceAll('`', '').split(', ')]).toEqual([type, declared.get(type!.slice(1, -1))])
    }
  })

  test('lists every notice of the native stream, and no others', () => {
    const stream = readFileSync(new URL('../../http/response/stream.ts', import.meta.url), 'utf8')
    const kinds = [...stream.matchAll(/readonly kind: '(\w+)'/g)].map(([, kind]) => `\`stream.${kind}\``)
    expect(kinds.length).toBeGreaterThan(0)
    expect(rowsOf(['event', 'data', 'meaning']).map(([event]) => event)).toEqual(kinds)
  })

  test('has a description in every row', () => {
    for (const cells of rows) expect(cells.at(-1)).toMatch(/\w+.*[.)]$/)
  })
})

describe('event types:', () => {
  test('[LOG-3] exactly four event types end a run', () => {
    expect(types.filter(isTerminal)).toEqual(['run.completed', 'run.failed', 'run.cancelled', 'run.rejected'])
    expect(types.filter((type) => eventTable[type].effect === 'terminal')).toEqual(types.filter(isTerminal))
  })

  test('exactly one event type pauses a run', () => {
    expect(types.filter((type) => eventTable[type].effect === 'pause')).toEqual(['run.paused'])
  })

  test('event type names are noun.verb', () => {
    for (const type of types) expect(type).toMatch(/^[a-z]+\.[a-z]+$/)
  })

  test('agents may emit only outcomes of the run’s lifecycle', () => {
    const ofAgents = types.filter((type) => eventTable[type].agent && eventTable[type].effect !== 'content')
    expect(ofAgents).toEqual(['run.completed', 'run.failed', 'run.rejected'])
  })

  test.each([
    ['text.delta', true],
    ['text.deltas', false],
    ['', false],
    ['__proto__', false],
    ['constructor', false],
    ['toString', false],
    [undefined, false],
    [null, false],
    [7, false],
    [['text.delta'], false],
  ])('%j is an event type: %s', (value, expected) => expect(isEventType(value)).toBe(expected))

  test('createEvent returns the event of a type', () => {
    const event: Event = createEvent('custom.emitted', { name: 'a', value: 1 })
    expect(event).toEqual({ type: 'custom.emitted', data: { name: 'a', value: 1 } })
    expect(event.type satisfies EventType).toBe('custom.emitted')
  })
})
