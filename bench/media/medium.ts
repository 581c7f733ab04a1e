/** What a store keeps its runs in: a file, or servers that the bench starts, whose cost is measured beside that of the nodes. */
import { readFileSync } from 'node:fs'

export interface Medium {
  readonly name: string
  /** Several nodes can work on it at once. */
  readonly shared: boolean
  /** The address of a new store, with nothing in it. */
  place(): string
  usage(address: string): Promise<MediumUsage>
  /** Removes a store that nobody has open. */
  clear(address: string): Promise<void>
  stop(): Promise<void>
}

export interface MediumUsage {
  /** Of all servers, since they started; 0 where there is none. */
  readonly cpuMicros: number
  /** What a store takes on one disk, indexes included. */
  readonly storedBytes: number
  /** What one replica was sent since the start, or would have been. */
  readonly replicatedBytes: number
}

/** Of a process, its children, and children that have ended. Linux tells it in hundredths of a second. */
export function cpuMicrosOf(pid: number | undefined): number {
  if (pid === undefined) return 0
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean)
  const ticks = [String(pid), ...children].map((each) => ticksOf(each))
  return ticks.reduce((sum, each) => sum + each, 0) * MICROS_PER_TICK
}

const MICROS_PER_TICK = 10_000

function ticksOf(pid: string): number {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'utf8')
    // After the name, which may hold anything: state, parent …, and at place 11 user, system, and both of ended children.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  } catch {
    return 0 // it has ended, and its time is now its parent's
  }
}
