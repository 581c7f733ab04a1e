/** A store's medium: a file, or servers that the bench starts and measures together with the nodes. */
import { readFileSync } from 'node:fs'

export interface Medium {
  readonly name: string
  /** Several nodes can use it. */
  readonly shared: boolean
  /** The address of a new, empty store. */
  place(): string
  usage(address: string): Promise<MediumUsage>
  /** Removes a closed store. */
  clear(address: string): Promise<void>
  stop(): Promise<void>
}

export interface MediumUsage {
  /** CPU of all servers since their start; 0 without servers. */
  readonly cpuMicros: number
  /** Size on one disk, including indexes. */
  readonly storedBytes: number
  /** Bytes sent to one replica since the start, or that would have been sent. */
  readonly replicatedBytes: number
}

/** CPU of a process and its current and former children. Linux reports it in 1/100 s. */
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
    // After the name, which may contain anything: state, parent …; from position 11 user and system time, own and of ended children.
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0)
  } catch {
    return 0 // it has exited, and its parent has its time
  }
}
