/**
 * DNS resolver for webhooks. Avoids the system's resolver, whose few threads serve all outgoing requests of the process: names chosen by
 * tenants must not delay model calls. Lookups have a timeout and can be cancelled.
 */
import { Resolver } from 'node:dns/promises'
import type { Lookup } from './addresses.ts'

const LOOKUP_MS = 2000

/** `servers`: such as `127.0.0.1:53`. Default: the system's. */
export function createLookup(servers?: readonly string[]): Lookup {
  return async (name, signal) => {
    // This resolver does not read the hosts file, but localhost is fixed by RFC 6761.
    if (/^(?:.+\.)?localhost\.?$/i.test(name)) return [{ address: '127.0.0.1', family: 4 }]
    const resolver = new Resolver({ timeout: LOOKUP_MS, tries: 1 })
    if (servers !== undefined) resolver.setServers(servers)
    const cancel = (): void => resolver.cancel()
    signal.addEventListener('abort', cancel, { once: true })
    try {
      const [four, six] = await Promise.allSettled([resolver.resolve4(name), resolver.resolve6(name)])
      signal.throwIfAborted()
      if (four.status === 'rejected' && six.status === 'rejected') throw four.reason
      return [...addresses(four, 4), ...addresses(six, 6)]
    } finally {
      signal.removeEventListener('abort', cancel)
    }
  }
}

function addresses(
  found: PromiseSettledResult<readonly string[]>,
  family: 4 | 6,
): { readonly address: string; readonly family: number }[] {
  return found.status === 'fulfilled' ? found.value.map((address) => ({ address, family })) : []
}
