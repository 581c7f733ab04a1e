/** A process of hostile connections: keeps a given number open, from several addresses, until it is stopped. */
import { setTimeout as wait } from 'node:timers/promises'
import { attacks } from './attacks.ts'
import type { HostileJob, HostileReport } from './messages.ts'

const ADDRESSES = 50
/** Before a connection that was refused or ended is opened again. */
const AGAIN_MS = 250

const stopped = new AbortController()
const opened: Record<string, number> = {}
let bytesSent = 0

process.on('message', (message: HostileJob | 'stop') => {
  if (message !== 'stop') return begin(message)
  stopped.abort()
  const report: HostileReport = { opened, bytesSent }
  process.send!(report)
})
process.on('disconnect', () => process.exit())

function begin(job: HostileJob): void {
  const names = Object.keys(attacks)
  const floods = Math.max(
    1,
    Math.ceil(job.connections / names.length) * names.filter((name) => /flood/i.test(name)).length,
  )
  for (let at = 0; at < job.connections; at++) {
    const name = names[at % names.length]!
    const from = `127.0.0.${2 + (at % ADDRESSES)}`
    void keepUp(name, { job, from, floodPerSecond: job.floodPerSecond / floods, signal: stopped.signal, sent })
  }
}

function sent(bytes: number): void {
  bytesSent += bytes
}

async function keepUp(name: string, assault: Parameters<(typeof attacks)[string]>[0]): Promise<void> {
  while (!stopped.signal.aborted) {
    opened[name] = (opened[name] ?? 0) + 1
    await attacks[name]!(assault).catch(() => {}) // refused, which is what it is for
    await wait(AGAIN_MS)
  }
}
