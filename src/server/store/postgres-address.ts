/** Parses the address of a PostgreSQL store, and formats it without secrets. */

export interface PostgresConfig {
  readonly kind: 'postgres'
  readonly url: string
  readonly directUrl?: string
  readonly schema?: string
  readonly connections?: number
  readonly outageTimeoutMs?: number
}

/** Parameters of Holdfast. All others, such as `sslmode`, belong to the connection. */
const PARAMETERS = ['schema', 'connections', 'direct'] as const

/** Errors never repeat the address, which may contain a password. */
export function toPostgres(text: string): PostgresConfig {
  const address = URL.canParse(text) ? new URL(text) : undefined
  if (address === undefined) throw new Error('not an address: use postgres://USER:PASSWORD@HOST:PORT/DATABASE')
  const [schema, connections, direct] = PARAMETERS.map((name) => address.searchParams.get(name) ?? undefined)
  for (const name of PARAMETERS) address.searchParams.delete(name)
  return {
    kind: 'postgres',
    url: address.href,
    ...(schema !== undefined && { schema }),
    ...(connections !== undefined && { connections: toConnections(connections) }),
    ...(direct !== undefined && { directUrl: withHost(address, direct) }),
  }
}

export function withoutPassword(url: string): string {
  const address = new URL(url)
  address.password = ''
  address.search = ''
  return address.href
}

function toConnections(text: string): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 1 && count <= 1000) return count
  throw new Error(`connections=${text} is not a number from 1 to 1000`)
}

function withHost(address: URL, host: string): string {
  const direct = new URL(address.href)
  // URL knows no default port for this scheme, so the old port must be cleared.
  direct.port = ''
  direct.host = host
  if (!/^[^/@?#]+$/.test(host) || direct.host !== host)
    throw new Error(`direct=${host} is not a server address: use HOST or HOST:PORT`)
  return direct.href
}
