/** How much memory a process has had. */
import { readFileSync } from 'node:fs'

/** The most that was ever in memory, in MB. */
export function peakMemory(pid: number): number {
  const [, kibibytes] = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? []
  return Number(kibibytes) / 1024
}
