/** Caps slots per network address, so that one address cannot exhaust a shared resource. */

export interface AddressLimitOptions {
  readonly maxPerAddress: number
  readonly maxTotal: number
}

export class AddressLimit {
  readonly #options: AddressLimitOptions
  readonly #counts = new Map<string, number>()
  #total = 0

  constructor(options: AddressLimitOptions) {
    this.#options = options
  }

  /** Acquires a slot and returns its idempotent release function, or undefined if no slot is free. */
  acquire(address: string | undefined): (() => void) | undefined {
    const network = networkOf(address)
    const count = this.#counts.get(network) ?? 0
    if (count >= this.#options.maxPerAddress || this.#total >= this.#options.maxTotal) return undefined
    this.#counts.set(network, count + 1)
    this.#total++
    let released = false
    return () => {
      if (released) return
      released = true
      this.#release(network)
    }
  }

  #release(network: string): void {
    const count = this.#counts.get(network)! - 1
    if (count === 0) this.#counts.delete(network)
    else this.#counts.set(network, count)
    this.#total--
  }
}

/** Clients whose address the host does not report. Exempt from rates per address: one client could use up the share of all others. */
export const UNKNOWN_ADDRESS = 'unknown'

/** The network that one client is assumed to control: an IPv4 address, or the /64 of an IPv6 address. */
export function networkOf(address = ''): string {
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? []
  if (mapped !== undefined) return mapped
  if (!address.includes(':')) return address
  const [head = '', tail] = address.toLowerCase().split('%')[0]!.split('::', 2)
  const first = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups = tail === undefined ? first : [...first, ...zeros(8 - first.length - last.length), ...last]
  return `${groups.slice(0, 4).join(':')}::/64`
}

function zeros(count: number): string[] {
  return Array.from({ length: Math.max(0, count) }, () => '0')
}
