/** A network link between two processes that can be partitioned silently, by dropping packets or with a proxy. */
import { execFileSync } from 'node:child_process'
import { openTcpProxy } from '../support/tcp-proxy.ts'

export type PartitionMethod = 'packets' | 'proxy'

export interface Link {
  /** Port that leads to the other end. */
  readonly port: number
  block(): void
  heal(): void
  close(): Promise<void>
}

/** `packets` if packet filters are permitted on this machine. */
export function partitionMethod(): PartitionMethod {
  const probe = ruleFor('dport', 1)
  try {
    iptables('-A', probe)
    iptables('-D', probe)
    return 'packets'
  } catch {
    return 'proxy'
  }
}

export async function openLink(target: number, method: PartitionMethod): Promise<Link> {
  const proxy = await openTcpProxy(target)
  const { port } = proxy
  if (method === 'packets') {
    // The rules apply to the proxy's port, so that both ends see retransmissions and timeouts.
    const heal = (): void => removeRules(port)
    return { port, block: () => addRules(port), heal, close: () => (heal(), proxy.close()) }
  }
  const heal = (): void => {
    proxy.heal()
    proxy.cut() // existing connections have lost bytes
  }
  return { port, block: () => proxy.block(), heal, close: () => proxy.close() }
}

const blocked = new Set<number>()
process.on('exit', () => {
  for (const port of blocked) removeRules(port)
})

function addRules(port: number): void {
  if (blocked.has(port)) return
  blocked.add(port)
  for (const end of ['dport', 'sport'] as const) iptables('-A', ruleFor(end, port))
}

function removeRules(port: number): void {
  if (!blocked.delete(port)) return
  for (const end of ['dport', 'sport'] as const) iptables('-D', ruleFor(end, port))
}

function ruleFor(end: 'dport' | 'sport', port: number): string[] {
  const comment = ['-m', 'comment', '--comment', `holdfast-faults-${process.pid}`]
  return ['INPUT', '-i', 'lo', '-p', 'tcp', `--${end}`, String(port), ...comment, '-j', 'DROP']
}

function iptables(action: '-A' | '-D', rule: readonly string[]): void {
  execFileSync('iptables', ['-w', '5', action, ...rule], { stdio: 'pipe' })
}
