/** CPU time of this process and of the children it has waited for, user and system, in milliseconds. Linux only. */
import { existsSync, readFileSync } from 'node:fs'

const STAT = '/proc/self/stat'
/** USER_HZ, the same on every architecture that Node supports. */
const TICK_MS = 10

export interface CpuTime {
  readonly own: number
  readonly children: number
}

export function cpuTime(): CpuTime | undefined {
  if (!existsSync(STAT)) return undefined
  const text = readFileSync(STAT, 'utf8')
  // The second field, the program's name, may contain spaces.
  const fields = text
    .slice(text.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number)
  const [utime, stime, cutime, cstime] = fields.slice(11, 15)
  return { own: (utime! + stime!) * TICK_MS, children: (cutime! + cstime!) * TICK_MS }
}
