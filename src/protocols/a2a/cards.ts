/** What an agent says of itself, in the words of 1.0. */
import type { Component } from '../../core/agent.ts'
import type { AuthScheme } from '../../core/principal.ts'
import { extensionsOf } from './extensions.ts'
import type { A2aOptions, AgentAbout } from './options.ts'
import type { AgentCard, AgentInterface, AgentSkill } from './wire.ts'

export interface CardFacts {
  readonly component: Component
  readonly about: AgentAbout
  readonly options: A2aOptions
  readonly auth: AuthScheme
  /** Of the server. */
  readonly version: string
  readonly hasExtendedCard: boolean
}

/** `url` is where the server is reached. */
export function cardOf(facts: CardFacts, url: string): AgentCard {
  const { component, about, options, auth, version, hasExtendedCard } = facts
  const { provider, documentationUrl, iconUrl } = about
  return {
    name: component.name ?? component.id,
    description: describe(component),
    supportedInterfaces: interfacesOf(`${url}/a2a/${encodeURIComponent(component.id)}`, options.grpcUrl),
    ...(provider !== undefined && { provider }),
    version: about.version ?? version,
    ...(documentationUrl !== undefined && { documentationUrl }),
    ...(iconUrl !== undefined && { iconUrl }),
    capabilities: {
      streaming: true,
      pushNotifications: options.push === true,
      extendedAgentCard: hasExtendedCard,
      extensions: extensionsOf(about),
    },
    ...(auth !== 'none' && bearer),
    defaultInputModes: about.inputModes ?? ['text/plain', 'application/json', '*/*'],
    defaultOutputModes: about.outputModes ?? ['text/plain', 'application/json', '*/*'],
    skills: about.skills ?? [skillOf(component)],
  }
}

const bearer = {
  securitySchemes: { bearer: { httpAuthSecurityScheme: { scheme: 'Bearer' } } },
  securityRequirements: [{ schemes: { bearer: {} } }],
}

/** In the order of preference; both versions are at the same address. */
function interfacesOf(url: string, grpcUrl: string | undefined): AgentInterface[] {
  const versions = ['1.0', '0.3'] as const
  return versions.flatMap((protocolVersion) => [
    { url, protocolBinding: 'JSONRPC', protocolVersion },
    { url, protocolBinding: 'HTTP+JSON', protocolVersion },
    ...(grpcUrl === undefined ? [] : [{ url: grpcUrl, protocolBinding: 'GRPC', protocolVersion } as const]),
  ])
}

function skillOf(component: Component): AgentSkill {
  const { id, name = id, kind } = component
  return { id, name, description: describe(component), tags: [kind] }
}

function describe({ id, kind, description }: Component): string {
  return description ?? `The ${kind} ${id}.`
}

/** What a caller who is known learns besides: how its runs are kept. */
export function extend(card: AgentCard, { recovery = 'fail', session = 'parallel' }: Component): AgentCard {
  const skills = card.skills.map((skill) => ({
    ...skill,
    tags: [...skill.tags, `recovery:${recovery}`, `session:${session}`],
  }))
  return { ...card, skills }
}
