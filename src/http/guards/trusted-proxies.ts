/** Client address, protocol and host of a request: from the connection, or from the headers of a trusted proxy. */
import type { IncomingHttpHeaders } from 'node:http'
import type { BlockList } from 'node:net'
import type { HttpRequest } from '../exchange.ts'

export interface Peer {
  readonly address: string | undefined
  /** Protocol with which the client reached the server, or the first trusted proxy. */
  readonly protocol: 'http' | 'https'
  /** Host header of the client, with its port if any; may be empty. */
  readonly host: string
  /** Path prefix that a trusted proxy has removed, such as `/api/agents`. */
  readonly prefix?: string
}

const NAMED: ReadonlyMap<string, readonly string[]> = new Map([
  ['loopback', ['127.0.0.0/8', '::1/128']],
  ['private', ['127.0.0.0/8', '::1/128', '10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7', 'fe80::/10']],
])

/** Maximum addresses of `X-Forwarded-For` to evaluate: a client may have written most of them. */
const HOPS_MAX = 32

export class TrustedProxies {
  readonly #networks: BlockList | undefined

  /** Addresses, networks such as `10.0.0.0/8`, `loopback` or `private`. Throws for anything else. */
  constructor(networks: readonly string[]) {
    if (networks.length > 0) this.#networks = toBlockList(networks)
  }

  peerOf({ socket, headers }: Pick<HttpRequest, 'socket' | 'headers'>): Peer {
    const protocol = 'encrypted' in socket ? 'https' : 'http'
    const direct: Peer = { address: socket.remoteAddress, protocol, host: headers.host ?? '' }
    return this.#trusts(direct.address) ? this.#forwarded(direct, headers) : direct
  }

  /** The client's address, if only `X-Forwarded-For` is available. */
  addressOf(address: string, forwardedFor: string): string {
    if (!this.#trusts(address)) return address
    let client = address
    for (const hop of valuesOf(forwardedFor).slice(-HOPS_MAX).toReversed()) {
      const named = withoutPort(hop)
      if (familyOf(named) === undefined) break
      client = named
      if (!this.#trusts(named)) break
    }
    return client
  }

  #forwarded(direct: Peer, headers: IncomingHttpHeaders): Peer {
    const protocol = valuesOf(headers['x-forwarded-proto']).at(-1)?.toLowerCase()
    const prefix = prefixIn(headers['x-forwarded-prefix'])
    return {
      address: this.addressOf(direct.address!, valuesOf(headers['x-forwarded-for']).join(',')),
      protocol: protocol === 'http' || protocol === 'https' ? protocol : direct.protocol,
      host: valuesOf(headers['x-forwarded-host']).at(-1) ?? direct.host,
      ...(prefix !== undefined && { prefix }),
    }
  }

  #trusts(address: string | undefined): boolean {
    if (this.#networks === undefined || address === undefined) return false
    const plain = withoutMapping(address)
    const family = familyOf(plain)
    return family !== undefined && this.#networks.check(plain, family)
  }
}

/** Undefined if the header is absent or not a path. */
function prefixIn(header: string | readonly string[] | undefined): string | undefined {
  const prefix = valuesOf(header).at(-1)?.replace(/\/+$/, '')
  return prefix !== undefined && /^(\/[\w.~%-]+){1,20}$/.test(prefix) ? prefix : undefined
}

/** Throws on an invalid network. */
export function toBlockList(networks: readonly string[]): BlockList {
  const list = new (net().BlockList)()
  for (const network of networks.flatMap((each) => NAMED.get(each) ?? [each])) {
    const [address = '', prefix, ...rest] = network.split('/')
    const family = familyOf(address)
    const bits = family === 'ipv6' ? 128 : 32
    const isPrefix = prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits)
    if (family === undefined || !isPrefix || rest.length > 0)
      throw new Error(
        `${JSON.stringify(network)} is not an address: pass addresses such as 10.0.0.5, networks such as 10.0.0.0/8, loopback or private`,
      )
    list.addSubnet(address, prefix === undefined ? bits : Number(prefix), family)
  }
  return list
}

function familyOf(address: string): 'ipv4' | 'ipv6' | undefined {
  const version = net().isIP(address)
  return version === 0 ? undefined : version === 6 ? 'ipv6' : 'ipv4'
}

/** Strips the IPv6 mapping that dual-stack sockets add to IPv4 addresses. */
function withoutMapping(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}

/** Some proxies append the client's port. */
function withoutPort(address: string): string {
  return address.replace(/^\[(.+)\](?::\d+)?$/, '$1').replace(/^(\d+\.\d+\.\d+\.\d+):\d+$/, '$1')
}

/** The values of a header that may repeat or hold a list. */
function valuesOf(header: string | readonly string[] | undefined): string[] {
  const text = typeof header === 'string' ? header : (header ?? []).join(',')
  return text
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '')
}

function net(): typeof import('node:net') {
  return process.getBuiltinModule('node:net') // an import would slow the start down
}
