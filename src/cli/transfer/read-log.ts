/** Reads an exported log and rejects anything but the complete, unchanged log of one finished run (LOG-1, LOG-3). */
import { HoldfastError, messageOf } from '../../core/model/errors.ts'
import { wrongField } from '../../core/model/wrong-field.ts'
import { type EventData, isEventType, isTerminal, type LoggedEvent } from '../../core/model/event.ts'
import { defaultLimits } from '../../core/model/limits.ts'
import { reduce, type Run } from '../../core/model/run.ts'

export interface ReadLog {
  /** The run's final state. */
  readonly run: Run
  /** In the stored format. */
  readonly records: readonly string[]
}

const RUN_ID = /^[\w.-]{1,256}$/

export function readLog(text: string, owner: string): ReadLog {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  if (lines.length === 0) throw invalidLine(1, 'the file is empty')
  const records: string[] = []
  let run: Run | undefined
  for (const [index, line] of lines.entries()) {
    const event = parse(line, index, run?.id)
    if (isTerminal(event.type) !== (index === lines.length - 1))
      throw invalidLine(
        index + 1,
        isTerminal(event.type) ? 'there are lines after the end of the run' : 'the end of the run is missing',
      )
    run = run === undefined ? createdRun(event, owner) : fold(run, event)
    records.push(`id: ${index}\nevent: ${event.type}\ndata: ${line}\n\n`)
  }
  return { run: run!, records }
}

function parse(line: string, index: number, run: string | undefined): LoggedEvent {
  if (Buffer.byteLength(line) > defaultLimits.maxEventBytes * 2)
    throw invalidLine(index + 1, 'it exceeds the maximum size of an event')
  const event = parseJson(line, index)
  if (typeof event.run !== 'string' || !RUN_ID.test(event.run)) throw invalidLine(index + 1, 'it has no run id')
  if (run !== undefined && event.run !== run)
    throw invalidLine(index + 1, `it belongs to another run, ${event.run.slice(0, 100)}`)
  if (event.index !== index) throw invalidLine(index + 1, `its index is ${String(event.index)} and must be ${index}`)
  if (!isEventType(event.type)) throw invalidLine(index + 1, `${JSON.stringify(event.type)} is not an event type`)
  if (!isIsoTime(event.time)) throw invalidLine(index + 1, 'it has no time')
  if (typeof event.data !== 'object' || event.data === null) throw invalidLine(index + 1, 'it has no data')
  // These bytes are stored as they are, and readers rely on this prefix.
  const head = `{"run":"${event.run}","index":${index},"time":"${event.time}","type":"${event.type}",`
  if (!line.startsWith(head) || !/^"(?:actor|data)":\{/.test(line.slice(head.length)))
    throw invalidLine(index + 1, "it is not in Holdfast's event format")
  const wrong = wrongField(event.type, event.data)
  if (wrong !== undefined) throw invalidLine(index + 1, wrong)
  return event
}

function parseJson(line: string, index: number): LoggedEvent {
  try {
    const value: unknown = JSON.parse(line)
    if (typeof value === 'object' && value !== null) return value as LoggedEvent
  } catch {
    // reported below
  }
  throw invalidLine(index + 1, 'it is not a JSON object')
}

function isIsoTime(time: unknown): boolean {
  return typeof time === 'string' && !Number.isNaN(Date.parse(time)) && new Date(time).toISOString() === time
}

function createdRun(event: LoggedEvent, owner: string): Run {
  if (event.type !== 'run.created') throw invalidLine(1, `it begins with ${event.type}, not with run.created`)
  const { component, session, metadata, protocol, branch } = event.data as Partial<EventData['run.created']>
  if (typeof component !== 'string' || typeof session !== 'string')
    throw invalidLine(1, 'it has no component or no session')
  return {
    id: event.run,
    component,
    session,
    ...(metadata !== undefined && { metadata }),
    ...(protocol !== undefined && { protocol }),
    ...(branch !== undefined && { branch }),
    owner,
    status: 'queued',
    createdAt: event.time,
    updatedAt: event.time,
    attempt: 0,
  }
}

function fold(run: Run, event: LoggedEvent): Run {
  if (event.type === 'run.created') throw invalidLine(event.index + 1, 'run.created appears twice')
  try {
    return reduce(run, event)
  } catch (cause) {
    throw invalidLine(event.index + 1, messageOf(cause))
  }
}

function invalidLine(line: number, why: string): HoldfastError {
  return new HoldfastError('invalid_request', `line ${line}: ${why}; nothing was imported`)
}
