/** Encodes, decodes and verifies rows of `runs`. */
import type { Run } from '../../../core/model/run.ts'
import type { LogDamage, StopRequest, StoredRun } from '../../../core/ports/store.ts'
import { type Field, fieldsChecksum, fits } from './checksum.ts'
import type { RunRow } from '../committing/committing-messages.ts'

export interface NumberedRun {
  readonly number: number
  readonly stored: StoredRun
  readonly idempotency: { readonly key: string; readonly fingerprint: string } | undefined
  /** Its row is damaged; `stored.damage` has the details. */
  readonly isLost?: true
  /** The file already records the damage. */
  readonly isMarked?: boolean
}

export type Row = Record<string, unknown>

/** Columns that never change. */
const IDENTITY = ['number', 'id', 'owner', 'component', 'session', 'created'] as const
const STATE = ['status', 'finished', 'epoch', 'first', 'next', 'run', 'stop', 'idempotency_key', 'fingerprint'] as const
const COLUMNS = [...IDENTITY, ...STATE]

/** Parameters: `columnsOf` a row. */
export const UPSERT_RUN = `INSERT INTO runs (${COLUMNS.join(', ')}, identity, crc)
  VALUES (${COLUMNS.map(() => '?').join(', ')}, ?, ?)
  ON CONFLICT (number) DO UPDATE SET status = excluded.status, finished = excluded.finished, epoch = excluded.epoch,
    first = excluded.first, next = excluded.next, run = excluded.run, stop = excluded.stop,
    identity = excluded.identity, crc = excluded.crc`

export function columnsOf(row: RunRow): Field[] {
  const identity: Field[] = [row.number, row.id, row.owner, row.component, row.session, row.created]
  const fields = [
    ...identity, row.status, row.finished, row.epoch, row.first, row.next, row.run, row.stop, row.idempotencyKey, row.fingerprint,
  ] // prettier-ignore
  return [...fields, fieldsChecksum(identity), fieldsChecksum(fields)]
}

/** The trustworthy fields of a run whose row is damaged. */
export interface LostRun {
  readonly number: number
  readonly id: string
  readonly owner: string
  readonly component: string
  readonly session: string
  readonly createdAt: string
  readonly isMarked: boolean
}

/** `lost`: its state is damaged, but its identity is known. `unreadable`: its identity is unknown. */
export type RowReading =
  | { readonly kind: 'sound'; readonly run: NumberedRun }
  | { readonly kind: 'lost'; readonly run: LostRun }
  | { readonly kind: 'unreadable'; readonly number: number }

export function readRow(row: Row): RowReading {
  const number = row['number'] as number
  if (!fits(row['identity'], () => checksumIn(row, IDENTITY))) return { kind: 'unreadable', number }
  if (fits(row['crc'], () => checksumIn(row, COLUMNS))) {
    const run = parseRow(row)
    if (run !== undefined) return { kind: 'sound', run }
  }
  const { id, owner, component, session, created: createdAt } = row as Readonly<Record<string, string>>
  if (row['identity'] === null) return { kind: 'unreadable', number }
  const names = { id: id!, owner: owner!, component: component!, session: session!, createdAt: createdAt! }
  return { kind: 'lost', run: { number, ...names, isMarked: row['damage'] !== null } }
}

/** Describes a run whose state is lost: failed with this reason, and which events it had. */
export function lostRun(lost: LostRun, next: number): NumberedRun {
  const { number, id, owner, component, session, createdAt, isMarked } = lost
  const reason = 'belong to a run whose row in the database is damaged'
  const run: Run = {
    id,
    owner,
    component,
    session,
    createdAt,
    updatedAt: createdAt,
    status: 'failed',
    attempt: 0,
    error: { code: 'log_damaged', message: 'the state of the run is lost: its row in the database is damaged' },
  }
  const damage = { first: 0, last: Math.max(0, next - 1), reason }
  return { number, stored: { run, first: 0, next, epoch: 0, damage }, idempotency: undefined, isLost: true, isMarked }
}

function checksumIn(row: Row, columns: readonly string[]): number {
  return fieldsChecksum(columns.map((column) => row[column] as Field))
}

/** Undefined for an invalid row without a checksum. */
function parseRow(row: Row): NumberedRun | undefined {
  try {
    const stop = row['stop'] as string | null
    const damage = row['damage'] as string | null
    const key = row['idempotency_key'] as string | null
    return {
      number: row['number'] as number,
      stored: {
        run: JSON.parse(row['run'] as string) as Run,
        first: row['first'] as number,
        next: row['next'] as number,
        epoch: row['epoch'] as number,
        ...(stop !== null && { stop: JSON.parse(stop) as StopRequest }),
        ...(damage !== null && { damage: JSON.parse(damage) as LogDamage }),
      },
      idempotency: key === null ? undefined : { key, fingerprint: row['fingerprint'] as string },
    }
  } catch {
    return undefined
  }
}
