/** Where a remote agent listens, and in which version, by its card. */
import { WorkFailure } from '../../core/agent.ts'
import { readJson, requestOk } from '../shared/remote.ts'
import type { Version } from './wire.ts'

export interface Endpoint {
  readonly url: string
  readonly version: Version
  readonly streaming: boolean
  readonly tenant?: string
}

const CARD_PATH = '.well-known/agent-card.json'

export interface Discovery {
  /** Of the agent, or of its card. */
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  readonly timeoutMs: number
}

export async function discover({ url, headers, signal, timeoutMs }: Discovery): Promise<Endpoint> {
  const card = url.endsWith('.json') ? url : new URL(CARD_PATH, url.endsWith('/') ? url : `${url}/`).href
  const response = await requestOk({
    url: card,
    headers: { accept: 'application/json', ...headers },
    signal,
    timeoutMs,
  })
  return endpointOf(await readJson(response), card)
}

interface Interface {
  readonly url?: string
  readonly binding?: string
  readonly version?: string
  readonly tenant?: string
}

/** The first interface that we speak: a card names them in the order in which they are preferred. */
export function endpointOf(card: unknown, base: string): Endpoint {
  const { capabilities, ...said } = (card ?? {}) as Record<string, unknown> & { capabilities?: { streaming?: unknown } }
  const interfaces = [...newer(said), ...older(said)]
  for (const { url, binding, version, tenant } of interfaces) {
    const spoken = versionOf(version)
    if (url === undefined || binding !== 'JSONRPC' || spoken === undefined) continue
    return {
      url: new URL(url, base).href,
      version: spoken,
      streaming: capabilities?.streaming === true,
      ...(tenant !== undefined && tenant !== '' && { tenant }),
    }
  }
  const offered = interfaces.map(({ binding, version }) => `${binding} ${version}`).join(', ')
  throw new WorkFailure({
    code: 'unsupported',
    message: `the remote agent has no JSON-RPC interface of A2A 1.0 or 0.3 (it has ${offered === '' ? 'none' : offered})`,
  })
}

function newer({ supportedInterfaces }: Record<string, unknown>): Interface[] {
  if (!Array.isArray(supportedInterfaces)) return []
  return supportedInterfaces.map((entry: Record<string, string>) => ({
    ...entry,
    binding: entry['protocolBinding']!,
    version: entry['protocolVersion']!,
  }))
}

function older({
  url,
  protocolVersion,
  preferredTransport,
  additionalInterfaces,
}: Record<string, unknown>): Interface[] {
  if (typeof url !== 'string') return []
  const version = typeof protocolVersion === 'string' ? protocolVersion : '0.3'
  const others = Array.isArray(additionalInterfaces) ? (additionalInterfaces as Record<string, string>[]) : []
  return [
    { url, binding: typeof preferredTransport === 'string' ? preferredTransport : 'JSONRPC', version },
    ...others.map((entry) => ({ ...entry, binding: entry['transport']!, version })),
  ]
}

/** Patches do not count. */
function versionOf(version: string | undefined): Version | undefined {
  const [major, minor] = (version ?? '').split('.')
  if (major === '1') return '1.0'
  return major === '0' && minor === '3' ? '0.3' : undefined
}
