/**
 * Checks logs and client streams by their bytes alone. Shares no code with the server, so that a defect in its encoding or parsing is
 * not repeated here.
 */

/** A log record as sent by the native protocol. */
export interface Recorded {
  readonly index: number
  readonly type: string
  readonly data: Readonly<Record<string, unknown>>
}

const TERMINAL = ['run.completed', 'run.failed', 'run.cancelled', 'run.rejected']

/** Parses a log; throws unless it consists of complete records of this run, numbered 0, 1, 2 … (LOG-1). */
export function checkedRecords(run: string, log: Buffer): Recorded[] {
  const texts = new TextDecoder('utf-8', { fatal: true }).decode(log).split('\n\n')
  if (texts.pop() !== '') throw new Error(`run ${run}: the log ends in the middle of a record`)
  return texts.map((text, position) => checkedRecord(run, text, position))
}

function checkedRecord(run: string, text: string, position: number): Recorded {
  const where = `run ${run}, record ${position}`
  const [id, event, data, ...more] = text.split('\n')
  if (id !== `id: ${position}`) throw new Error(`${where}: its first line is ${JSON.stringify(id)}`)
  if (more.length > 0 || !data?.startsWith('data: '))
    throw new Error(`${where} is not a frame of three lines: ${JSON.stringify(text.slice(0, 200))}`)
  const envelope = JSON.parse(data.slice(6)) as Recorded & { readonly run: string; readonly time: string }
  if (envelope.run !== run) throw new Error(`${where} belongs to run ${envelope.run}`)
  if (envelope.index !== position) throw new Error(`${where} calls itself ${envelope.index}`)
  if (event !== `event: ${envelope.type}`)
    throw new Error(`${where}: ${JSON.stringify(event)} is not its type, ${envelope.type}`)
  if (Number.isNaN(Date.parse(envelope.time))) throw new Error(`${where} has no time`)
  return envelope
}

/** Parses a finished log: exactly one terminal event, at the end (LOG-3). */
export function checkedEnd(run: string, log: Buffer): Recorded[] {
  const records = checkedRecords(run, log)
  const terminals = records.filter(({ type }) => TERMINAL.includes(type))
  if (terminals.length !== 1)
    throw new Error(`run ${run} has ${terminals.length} terminal events: ${typesOf(terminals)}`)
  if (terminals[0] !== records.at(-1))
    throw new Error(`run ${run} has events after its end: ${typesOf(records.slice(-3))}`)
  if (records[0]!.type !== 'run.created') throw new Error(`run ${run} begins with ${records[0]!.type}`)
  return records
}

/** Bytes sent after a cursor must be a prefix of the log's bytes from there (LOG-2, LOG-5). */
export function assertSeenIsInLog(run: string, seen: Buffer, log: Buffer, after = -1): void {
  const start = startAfter(run, log, after)
  const kept = log.subarray(start, start + seen.length)
  if (kept.equals(seen)) return
  const at = [...seen].findIndex((byte, position) => byte !== kept[position])
  const excerpt = (bytes: Buffer): string => JSON.stringify(bytes.subarray(Math.max(0, at - 80), at + 80).toString())
  throw new Error(
    `run ${run}: from byte ${at} after event ${after} a client saw ${excerpt(seen)}, and the log says ${excerpt(kept)}`,
  )
}

function startAfter(run: string, log: Buffer, after: number): number {
  if (after < 0) return 0
  const record = log.indexOf(after === 0 ? 'id: 0\n' : `\n\nid: ${after}\n`)
  const end = record < 0 ? -1 : log.indexOf('\n\n', record + 2)
  if (end < 0) throw new Error(`run ${run}: a client had event ${after}, but the log does not have it`)
  return end + 2
}

/** Texts that were not retracted. */
export function standingTexts(records: readonly Recorded[]): string[] {
  const retracted = records.flatMap(({ index, type, data }) => {
    return type === 'attempt.discarded' ? [{ from: data['from'] as number, until: index }] : []
  })
  const stands = (index: number): boolean => !retracted.some(({ from, until }) => index >= from && index < until)
  return records
    .filter(({ index, type }) => type === 'text.delta' && stands(index))
    .map(({ data }) => data['text'] as string)
}

/** The numbers in the lab agent's texts. */
export function numbersIn(texts: readonly string[]): number[] {
  return texts.flatMap((text) => {
    const [, number] = /^\[(\d+)\] /.exec(text) ?? []
    return number === undefined ? [] : [Number(number)]
  })
}

function typesOf(records: readonly Recorded[]): string {
  return records.map(({ index, type }) => `${index} ${type}`).join(', ')
}
