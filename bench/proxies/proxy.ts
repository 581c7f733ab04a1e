/** Proxies in front of the chat completions server, each in a process of its own. */
import { readFileSync } from 'node:fs'
import { cpuMicrosOf } from '../media/medium.ts'
import type { Usage } from '../messages.ts'

export interface Proxy {
  readonly port: number
  readonly usage: () => Promise<Usage>
  readonly stop: () => Promise<void>
}

/** Usage of a program that is not ours, by its process id, to the kernel's tick. Linux only. */
export function usageOf(pid: number): Usage {
  const cpuMicros = cpuMicrosOf(pid)
  const kilobytes = Number(/^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0)
  return { cpuMicros, mainThreadMicros: cpuMicros, rssBytes: kilobytes * 1024 }
}
