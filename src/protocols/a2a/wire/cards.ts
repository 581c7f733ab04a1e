/** Builds agent cards in the format of 1.0. */
import type { Component } from '../../../core/ports/component.ts'
import { schemasOf } from '../../../core/schema/component-schemas.ts'
import type { AuthScheme } from '../../../core/model/principal.ts'
import { extensionsOf } from '../requests/extensions.ts'
import { type A2aOptions, type AgentCardOptions, pushOptions } from './options.ts'
import type { AgentCard, AgentExtension, AgentInterface, AgentSkill } from './wire.ts'

export interface CardFacts {
  readonly component: Component
  readonly about: AgentCardOptions
  readonly options: A2aOptions
  readonly auth: AuthScheme
  /** Version of the server. */
  readonly version: string
  /** Path of the protocol below the server's address. */
  readonly path: string
  readonly hasExtendedCard: boolean
  /** The agent at the root of the server. */
  readonly isDefault: boolean
}

/** `url`: address of the server. */
export function cardOf(facts: CardFacts, url: string): AgentCard {
  const { component, about, options, auth, version, hasExtendedCard } = facts
  const { provider, documentationUrl, iconUrl, inputModes = ANY_MODE, outputModes = ANY_MODE } = about
  return {
    name: component.name ?? component.id,
    description: describe(component),
    supportedInterfaces: [
      ...interfacesOf(`${url}${facts.path}/${encodeURIComponent(component.id)}`),
      ...(options.grpcUrl === undefined ? [] : grpcInterfaces(options.grpcUrl, facts)),
    ],
    ...(provider !== undefined && { provider }),
    version: about.version ?? component.version ?? version,
    ...(documentationUrl !== undefined && { documentationUrl }),
    ...(iconUrl !== undefined && { iconUrl }),
    capabilities: {
      streaming: about.streaming ?? true,
      pushNotifications: pushOptions(options) !== undefined,
      extendedAgentCard: hasExtendedCard,
      // A card is public. On a server with authentication, the schemas are only for callers with a credential.
      extensions: [...extensionsOf(about), ...(auth === 'none' ? schemasExtension(component) : [])],
    },
    ...(auth !== 'none' && bearer),
    defaultInputModes: inputModes,
    defaultOutputModes: outputModes,
    // Optional in the specification, but FastA2A's client refuses a skill without them.
    skills: (about.skills ?? [skillOf(component)]).map((skill) => withModes(skill, inputModes, outputModes)),
  }
}

const ANY_MODE: readonly string[] = ['text/plain', 'application/json', '*/*']

const bearer = {
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  securityRequirements: [{ schemes: { bearer: {} } }],
}

/** In order of preference; both versions share one address. */
function interfacesOf(url: string): AgentInterface[] {
  const versions = ['1.0', '0.3'] as const
  return versions.flatMap((protocolVersion) => [
    { url, protocolBinding: 'JSONRPC', protocolVersion },
    { url, protocolBinding: 'HTTP+JSON', protocolVersion },
  ])
}

/** gRPC has one address for all agents, so others than the default one are addressed as tenants, which 0.3 lacks. */
function grpcInterfaces(url: string, { component, isDefault }: CardFacts): AgentInterface[] {
  const grpc = { url, protocolBinding: 'GRPC' } as const
  if (!isDefault) return [{ ...grpc, tenant: component.id, protocolVersion: '1.0' }]
  return [
    { ...grpc, protocolVersion: '1.0' },
    { ...grpc, protocolVersion: '0.3' },
  ]
}

function skillOf(component: Component): AgentSkill {
  const { id, name = id, kind } = component
  return { id, name, description: describe(component), tags: [kind] }
}

function withModes(skill: AgentSkill, inputModes: readonly string[], outputModes: readonly string[]): AgentSkill {
  return { ...skill, inputModes: skill.inputModes ?? inputModes, outputModes: skill.outputModes ?? outputModes }
}

function describe({ id, kind, description }: Component): string {
  return description ?? `The ${kind} ${id}.`
}

/** Extension with the JSON Schemas of an agent's input and output in `params`: docs/protocols/a2a.md. */
const SCHEMAS_EXTENSION = 'https://holdfast.dev/a2a/extensions/schemas/v1'

function schemasExtension(component: Component): AgentExtension[] {
  const schemas = schemasOf(component)
  if (Object.keys(schemas).length === 0) return []
  return [{ uri: SCHEMAS_EXTENSION, description: 'JSON Schemas of the input and the output.', params: { ...schemas } }]
}

/** Additional information for authenticated callers: retention of their runs, and what they may send. */
export function extend(card: AgentCard, component: Component): AgentCard {
  const { recovery = 'fail', onBusySession = 'parallel' } = component
  const skills = card.skills.map((skill) => ({
    ...skill,
    tags: [...skill.tags, `recovery:${recovery}`, `session:${onBusySession}`],
  }))
  const { extensions } = card.capabilities
  const described = extensions.some(({ uri }) => uri === SCHEMAS_EXTENSION) ? [] : schemasExtension(component)
  return { ...card, skills, capabilities: { ...card.capabilities, extensions: [...extensions, ...described] } }
}
