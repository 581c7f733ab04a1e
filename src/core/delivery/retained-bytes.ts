/** Estimates the memory that a view needs for an event. An upper bound: it limits the view cache. */
import type { EventType, LoggedEvent } from '../model/event.ts'

/** Views keep these as packed texts, which are smaller than the record. */
const TEXTS: ReadonlySet<EventType> = new Set(['text.delta', 'reasoning.delta', 'tool.drafted'])

/** `isAscii`: every character takes one byte. */
export function retainedBytes(event: LoggedEvent, chars: number, isAscii: boolean): number {
  const bytes = isAscii ? chars : 2 * chars
  return TEXTS.has(event.type) ? bytes : bytes + valueBytes(event.data)
}

/** A parsed value is larger than its JSON: an empty object alone takes more than fifty bytes. Strings are in the record's length. */
function valueBytes(value: unknown): number {
  if (typeof value === 'string') return STRING_BYTES
  if (typeof value === 'number') return NUMBER_BYTES
  if (typeof value !== 'object' || value === null) return 0
  let bytes = OBJECT_BYTES
  for (const inner of Object.values(value)) bytes += FIELD_BYTES + valueBytes(inner)
  return bytes
}

const STRING_BYTES = 24
const NUMBER_BYTES = 16
const OBJECT_BYTES = 64
const FIELD_BYTES = 16
