/** Reads slices of a run's log. */
import { assertReadable } from '../../core/model/cursor.ts'
import { storeUnavailable, runNotFound } from '../../core/model/errors.ts'
import { faultIn } from '../../core/delivery/read-log.ts'
import { lastOf, type Slice, sliceWithin } from '../../core/model/slice.ts'
import { isFinished, type Run } from '../../core/model/run.ts'
import { joinAfter } from '../shared/join-after.ts'
import type { Database } from './database.ts'

/** Rows of one read. The rows of a slow run hold few events each. */
const ROWS_MAX = 512

interface Row {
  readonly run: string
  readonly retained: number
  readonly next: number
  readonly first: number | null
  readonly count: number
  /** As text: `pg` sends bytes as hex, twice their size. */
  readonly data: string
}

/** Run head and records come from one query, so they are consistent. */
export async function readLog(
  database: Database,
  schema: string,
  id: string,
  after: number,
  maxBytes: number,
): Promise<Slice | undefined> {
  const wanted = Number.isInteger(after) ? Math.min(Math.max(after + 1, 0), INTEGER_MAX) : 0
  const rows = await database.query<Row>(statement(schema), [id, wanted, maxBytes])
  const [head] = rows
  if (head === undefined) throw runNotFound(id)
  const run = JSON.parse(head.run) as Run
  assertReadable({ run, first: head.retained, next: head.next }, after)
  if (after === head.next - 1) return undefined
  const pieces = rows.map(({ first, count, data }) => ({
    first: first!,
    count,
    bytes: Buffer.from(data),
    closed: false,
  }))
  for (const piece of pieces) {
    const fault = faultIn(id, piece)
    if (fault !== undefined)
      throw storeUnavailable(`run ${id}: the database returned invalid records: ${fault}`, { retryAfterMs: 1000 })
  }
  const slice = sliceWithin(joinAfter(pieces, after, maxBytes), maxBytes)
  return { ...slice, closed: isFinished(run.status) && lastOf(slice) === head.next - 1 }
}

const INTEGER_MAX = 2 ** 31 - 1

/** From the row with the first wanted record, until the byte limit is reached. */
function statement(schema: string): string {
  return `SELECT r.run, h.first AS retained, h.next, l.first, l.count, convert_from(l.data, 'UTF8') AS data
    FROM ${schema}.heads h JOIN ${schema}.runs r ON r.id = h.id LEFT JOIN LATERAL (
      SELECT p.* FROM (
        SELECT q.first, q.count, q.data, sum(octet_length(q.data)) OVER (ORDER BY q.first) - octet_length(q.data) AS before
        FROM ${schema}.log q WHERE q.run = h.number AND q.first >= (
          SELECT max(s.first) FROM ${schema}.log s WHERE s.run = h.number AND s.first <= $2::integer)
        ORDER BY q.first LIMIT ${ROWS_MAX}
      ) p WHERE p.before < $3::integer
    ) l ON $2::integer < h.next
    WHERE h.id = $1 ORDER BY l.first`
}
