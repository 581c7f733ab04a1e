/** Damage to a SQLite store: changed cells, rows that are gone or doubled, and changed bytes of the file. */
import { readFileSync, writeFileSync } from 'node:fs'
import { DatabaseSync, type SQLInputValue } from 'node:sqlite'
import fc from 'fast-check'
import { json, jsonText, text } from './values.ts'

export type Damage =
  | {
      readonly kind: 'cell'
      readonly table: string
      readonly row: number
      readonly column: number
      readonly change: CellChange
    }
  | { readonly kind: 'row'; readonly table: string; readonly row: number }
  | { readonly kind: 'bytes'; readonly at: number; readonly value: number; readonly count: number }

type CellChange =
  | { readonly to: 'byte'; readonly at: number; readonly value: number }
  | { readonly to: 'cut'; readonly at: number }
  | { readonly to: 'value'; readonly value: string | number | null }
  /** The same column of another row. */
  | { readonly to: 'other'; readonly row: number }

const TABLES = ['runs', 'log', 'segments', 'documents'] as const

const change: fc.Arbitrary<CellChange> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ to: fc.constant('byte' as const), at: fc.nat(2000), value: fc.nat(255) }) },
  { weight: 1, arbitrary: fc.record({ to: fc.constant('cut' as const), at: fc.nat(500) }) },
  { weight: 3, arbitrary: fc.record({ to: fc.constant('other' as const), row: fc.nat(20) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      to: fc.constant('value' as const),
      value: fc.oneof(
        text.map((value) => value.toWellFormed().replaceAll('\0', '')),
        json.map((value) => jsonText(value).slice(0, 100_000)),
        fc.constantFrom(null, 0, -1, 2 ** 31, 2 ** 53 - 1),
        fc.integer(),
      ),
    }),
  },
)

const cell = fc.record({
  kind: fc.constant('cell' as const),
  table: fc.constantFrom(...TABLES),
  row: fc.nat(20),
  column: fc.nat(20),
  change,
})

const row = fc.record({ kind: fc.constant('row' as const), table: fc.constantFrom(...TABLES), row: fc.nat(20) })

const bytes = fc.record({
  kind: fc.constant('bytes' as const),
  at: fc.nat(200_000),
  value: fc.nat(255),
  count: fc.constantFrom(1, 8, 512),
})

export const rowDamage: fc.Arbitrary<readonly Damage[]> = fc.array(
  fc.oneof({ weight: 6, arbitrary: cell }, { weight: 1, arbitrary: row }),
  { minLength: 1, maxLength: 4 },
)

export const fileDamage: fc.Arbitrary<readonly Damage[]> = fc.array(bytes, { minLength: 1, maxLength: 3 })

export function inflict(path: string, damages: readonly Damage[]): void {
  for (const damage of damages) {
    if (damage.kind === 'bytes') overwrite(path, damage)
    else changeRow(path, damage)
  }
}

function overwrite(path: string, { at, value, count }: Extract<Damage, { kind: 'bytes' }>): void {
  const file = readFileSync(path)
  const from = at % file.length
  file.fill(value, from, Math.min(from + count, file.length))
  writeFileSync(path, file)
}

type Key = Record<string, SQLInputValue>

/** By its primary key: `documents` has no row id. */
const KEYS: Readonly<Record<string, readonly string[]>> = {
  runs: ['number'],
  log: ['seq'],
  segments: ['run', 'first'],
  documents: ['collection', 'owner', 'id'],
}

function changeRow(path: string, damage: Exclude<Damage, { kind: 'bytes' }>): void {
  using database = new DatabaseSync(path)
  const { table } = damage
  const keys = database.prepare(`SELECT ${KEYS[table]!.join(', ')} FROM ${table}`).all() as Key[]
  if (keys.length === 0) return
  const where = KEYS[table]!.map((name) => `${name} = ?`).join(' AND ')
  const values = (at: number): SQLInputValue[] => Object.values(keys[at % keys.length]!)
  if (damage.kind === 'row')
    return void database.prepare(`DELETE FROM ${table} WHERE ${where}`).run(...values(damage.row))
  const columns = database.prepare(`SELECT name FROM pragma_table_info(?)`).all(table) as { readonly name: string }[]
  const { name } = columns[damage.column % columns.length]!
  const valueAt = (at: number): SQLInputValue =>
    (database.prepare(`SELECT ${name} AS value FROM ${table} WHERE ${where}`).get(...values(at)) as Key)['value']!
  const changed = changedValue(valueAt(damage.row), damage.change, valueAt)
  try {
    database.prepare(`UPDATE ${table} SET ${name} = ? WHERE ${where}`).run(changed, ...values(damage.row))
  } catch {
    // A constraint of the table keeps this damage out.
  }
}

function changedValue(value: SQLInputValue, given: CellChange, valueAt: (row: number) => SQLInputValue): SQLInputValue {
  if (given.to === 'value') return given.value
  if (given.to === 'other') return valueAt(given.row)
  if (typeof value !== 'string' && !(value instanceof Uint8Array)) return given.to === 'cut' ? null : given.value
  const changed = Buffer.from(value as string)
  if (given.to === 'byte' && changed.length > 0) changed[given.at % changed.length] = given.value
  const kept = given.to === 'cut' ? changed.subarray(0, given.at % (changed.length + 1)) : changed
  return typeof value === 'string' ? kept.toString('latin1') : kept
}
