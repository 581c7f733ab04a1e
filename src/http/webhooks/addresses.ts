/** SSRF protection: clients choose the addresses of webhooks, so none may lead into the server's network. */
import { BlockList, isIP } from 'node:net'

/** A checked address. The connection uses it directly, even if DNS changes in between. */
export interface PinnedAddress {
  readonly address: string
  readonly family: 4 | 6
}

/** Resolves a host name; the signal cancels it. */
export type Lookup = (
  name: string,
  signal: AbortSignal,
) => Promise<readonly { readonly address: string; readonly family: number }[]>

/** The address is not allowed. Not retryable. */
export class AddressRefused extends Error {}

const loopback = blockList([
  ['127.0.0.0', 8],
  ['::1', 128],
])

/** Private, shared, link-local, unspecified, documentation, reserved, multicast, and IPv6 ranges that embed IPv4 addresses. */
const inward = blockList([
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 3],
  ['::', 96],
  ['::ffff:0:0:0', 96],
  ['64:ff9b::', 32],
  ['100::', 64],
  ['2001::', 32],
  ['2001:db8::', 32],
  ['2002::', 16],
  ['3fff::', 20],
  ['fc00::', 7],
  ['fe80::', 9],
  ['ff00::', 8],
])

function blockList(subnets: readonly (readonly [string, number])[]): BlockList {
  const list = new BlockList()
  for (const [net, prefix] of subnets) list.addSubnet(net, prefix, isIP(net) === 6 ? 'ipv6' : 'ipv4')
  return list
}

export function isAllowed(address: string, allowLoopback: boolean): boolean {
  const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
  if (loopback.check(address, family)) return allowLoopback
  return !inward.check(address, family)
}

/** All addresses of the name must be allowed, since the name may resolve differently each time. */
export async function pin(
  hostname: string,
  allowLoopback: boolean,
  find: Lookup,
  signal: AbortSignal,
): Promise<PinnedAddress> {
  const host = hostname.replace(/^\[|\]$/g, '')
  const family = isIP(host)
  const found = family === 0 ? await find(host, signal) : [{ address: host, family }]
  const refused = found.find(({ address }) => !isAllowed(address, allowLoopback))
  if (refused !== undefined)
    throw new AddressRefused(`${host} is not a public address; webhooks only go to public addresses`)
  const [first] = found
  if (first === undefined) throw new Error(`${host} has no address`)
  return { address: first.address, family: first.family === 6 ? 6 : 4 }
}
