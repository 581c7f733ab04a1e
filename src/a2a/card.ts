/** Selects an agent's interface (URL, version, binding) from its card. */
import { ClientError } from '../client/errors.ts'
import { type Exchange, parseJson, refusalOf } from './exchange.ts'
import { ProtocolError } from './errors.ts'
import { isUntypedObject } from './untyped-json.ts'
import type { AgentCard, BindingName, A2aVersion } from './types.ts'

/** An interface of an agent: where it listens, with which binding and version of A2A. */
export interface A2aInterface {
  /** For gRPC: `host:port`. */
  readonly url: string
  readonly binding: BindingName
  readonly version: A2aVersion
  readonly tenant?: string
}

/** Which of a card's interfaces may be used. */
export interface Preference {
  readonly bindings?: readonly BindingName[] | undefined
  readonly versions?: readonly A2aVersion[] | undefined
}

/** gRPC needs extra packages, so by default it is used only if nothing else is offered. */
const OVER_HTTP: readonly BindingName[] = ['JSONRPC', 'HTTP+JSON']
const ALL_BINDINGS: readonly BindingName[] = [...OVER_HTTP, 'GRPC']
const ALL_VERSIONS: readonly A2aVersion[] = ['1.0', '0.3']

const CARD_PATH = '.well-known/agent-card.json'

/** The card's URL, from the URL of an agent or of the card itself. */
export function cardUrl(url: string): string {
  return url.endsWith('.json') ? url : new URL(CARD_PATH, url.endsWith('/') ? url : `${url}/`).href
}

export async function fetchCard(
  exchange: Exchange,
  url: string,
  { timeoutMs, signal }: { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined },
): Promise<AgentCard> {
  const headers = { accept: 'application/json', 'a2a-version': '1.0' }
  const reply = await exchange.whole({ url, method: 'GET', headers }, timeoutMs, signal)
  if (!reply.response.ok) throw refusalOf(reply, url)
  const card = parseJson(reply.text, 'a card')
  if (isUntypedObject(card)) return card
  throw new ProtocolError('the card is not an object')
}

interface Offer {
  readonly url?: unknown
  readonly binding?: unknown
  readonly version?: unknown
  readonly tenant?: unknown
}

/** The first acceptable interface: a card lists them in order of preference. */
export function selectInterface(card: AgentCard, base: string, preference: Preference = {}): A2aInterface {
  const { bindings, versions = ALL_VERSIONS } = preference
  const offers = offersOf(card)
  for (const taken of bindings === undefined ? [OVER_HTTP, ALL_BINDINGS] : [bindings]) {
    const found = offers
      .map((offer) => supportedInterface(offer, base, taken, versions))
      .find((each) => each !== undefined)
    if (found !== undefined) return found
  }
  const wanted = `${(bindings ?? ALL_BINDINGS).join(', ')} of A2A ${versions.join(' and ')}`
  const offered = offers.map(({ binding, version }) => `${String(binding)} ${String(version)}`).join(', ')
  throw new ClientError(
    `the agent offers no interface for ${wanted} (it offers ${offered === '' ? 'none' : offered})`,
    {
      code: 'unsupported',
      retryable: false,
    },
  )
}

function supportedInterface(
  { url, tenant, ...offer }: Offer,
  base: string,
  bindings: readonly BindingName[],
  versions: readonly A2aVersion[],
): A2aInterface | undefined {
  const binding = bindings.find((each) => each === offer.binding)
  const version = versions.find((each) => each === minor(offer.version))
  if (typeof url !== 'string' || binding === undefined || version === undefined) return undefined
  const address = binding === 'GRPC' ? url : new URL(url, base).href
  return { url: address, binding, version, ...(typeof tenant === 'string' && tenant !== '' && { tenant }) }
}

/** If a card lists 1.0 interfaces, that list is complete. */
function offersOf({ supportedInterfaces, ...card }: AgentCard): Offer[] {
  const offers = Array.isArray(supportedInterfaces) ? supportedInterfaces.filter(isUntypedObject) : []
  if (offers.length > 0)
    return offers.map(({ url, tenant, protocolBinding, protocolVersion }) => ({
      url,
      tenant,
      binding: protocolBinding,
      version: protocolVersion,
    }))
  const { url, protocolVersion: version = '0.3', preferredTransport: binding = 'JSONRPC', additionalInterfaces } = card
  if (typeof url !== 'string') return []
  const others = Array.isArray(additionalInterfaces) ? additionalInterfaces.filter(isUntypedObject) : []
  return [
    { url, binding, version },
    ...others.map((other) => ({ url: other['url'], binding: other['transport'], version })),
  ]
}

/** Ignores the patch version. */
function minor(version: unknown): string {
  return String(version).split('.').slice(0, 2).join('.')
}

export function hasExtension({ capabilities }: AgentCard, uri: string): boolean {
  const extensions = capabilities?.extensions
  return Array.isArray(extensions) && extensions.some((each: unknown) => isUntypedObject(each) && each['uri'] === uri)
}
