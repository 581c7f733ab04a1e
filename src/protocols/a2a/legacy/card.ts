/** The agent card in the format of 0.3, and in a combined format that both versions can read. */
import type { AgentCard } from '../wire/wire.ts'

type Scheme = Readonly<Record<string, unknown>>

export function toLegacyCard(card: AgentCard): object {
  const { supportedInterfaces, capabilities, securitySchemes, securityRequirements, ...rest } = card
  const { extendedAgentCard, ...able } = capabilities
  const interfaces = supportedInterfaces.filter(({ protocolVersion }) => protocolVersion === '0.3')
  const [preferred] = interfaces
  return {
    protocolVersion: '0.3.0',
    ...rest,
    url: preferred?.url,
    preferredTransport: preferred?.protocolBinding,
    additionalInterfaces: interfaces.map(({ url, protocolBinding }) => ({ url, transport: protocolBinding })),
    capabilities: { ...able, stateTransitionHistory: false },
    supportsAuthenticatedExtendedCard: extendedAgentCard,
    ...(securitySchemes !== undefined && { securitySchemes: schemesOf(securitySchemes) }),
    ...(securityRequirements !== undefined && {
      security: securityRequirements.map(({ schemes }) => mapValues(schemes, ({ list = [] }) => list)),
    }),
  }
}

/** For clients without a version header: 1.0 plus the fields that 0.3 needs. */
export function toHybridCard(card: AgentCard): object {
  const legacy = toLegacyCard(card) as { capabilities: object; securitySchemes?: Readonly<Record<string, object>> }
  return {
    ...legacy,
    ...card,
    capabilities: { ...legacy.capabilities, ...card.capabilities },
    ...(card.securitySchemes !== undefined && {
      securitySchemes: mapValues(card.securitySchemes, (scheme, name) => ({
        ...legacy.securitySchemes?.[name],
        ...scheme,
      })),
    }),
  }
}

/** In OpenAPI format. */
function schemesOf(schemes: Readonly<Record<string, Scheme>>): Readonly<Record<string, object>> {
  return mapValues(schemes, (scheme) => {
    const [kind = '', fields] = Object.entries(scheme)[0] ?? []
    const { location, ...about } = fields as Scheme
    return { type: types.get(kind) ?? kind, ...about, ...(location !== undefined && { in: location }) }
  })
}

const types: ReadonlyMap<string, string> = new Map([
  ['apiKeySecurityScheme', 'apiKey'],
  ['httpAuthSecurityScheme', 'http'],
  ['oauth2SecurityScheme', 'oauth2'],
  ['openIdConnectSecurityScheme', 'openIdConnect'],
  ['mtlsSecurityScheme', 'mutualTLS'],
])

function mapValues<Value, Mapped>(
  object: Readonly<Record<string, Value>>,
  map: (value: Value, key: string) => Mapped,
): Record<string, Mapped> {
  return Object.fromEntries(Object.entries(object).map(([key, value]) => [key, map(value, key)]))
}
