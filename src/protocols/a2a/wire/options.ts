/** Options of the A2A protocol. */
import type { Principal } from '../../../core/model/principal.ts'
import type { SecretBox } from '../../../core/ports/secret-box.ts'
import type { A2aErrorTable } from './errors.ts'
import type { PushLimits } from '../push/limits.ts'
import type { CardSigner } from './signing.ts'
import type { AgentCard, AgentExtension, AgentSkill } from './wire.ts'

/** Options of the A2A protocol. */
export interface A2aOptions {
  /** Component whose card is at the root. Default: the first one. */
  readonly defaultComponent?: string
  /** Public address of the server, such as `https://agents.example`. Default: the address of the request. */
  readonly url?: string
  /** Version of the specification for error statuses. Default: 1.0.1. */
  readonly errorTable?: A2aErrorTable
  /** Card for clients that send no A2A-Version. Default: one that 0.3 and 1.0 can read. */
  readonly unversionedCard?: 'both' | '1.0'
  /** Signs cards and pushes. Needs `url`. Default: no signatures. */
  readonly signer?: CardSigner
  /**
   * Which messages are deduplicated by `messageId`. Many clients reuse ids. `extension`: those of clients that activate the resume
   * extension. Default: `extension`.
   */
  readonly deduplicateMessages?: 'extension' | 'always' | 'never'
  /** Enables and configures push notifications. Default: disabled. */
  readonly push?: boolean | PushOptions
  /** Encrypts credentials of push configurations. `createServer` builds it from `secretKeys`. Default: none, and credentials are rejected. */
  readonly secrets?: SecretBox
  /** Also serve gRPC on this port; 0 selects a free port. Default: no gRPC. */
  readonly grpcPort?: number
  /** Public gRPC address on cards. Default: the listening address. */
  readonly grpcUrl?: string
  /** Builds the extended card for authenticated callers. Default: the public card. */
  readonly extendedCard?: (card: AgentCard, component: string, principal: Principal) => AgentCard
  /** Additional card fields by component id. Default: none. */
  readonly agents?: Readonly<Record<string, AgentCardOptions>>
}

/** Options of push notifications (webhooks). */
export interface PushOptions {
  /** Allow pushes to loopback addresses. Other non-public addresses are never allowed. Default: false. */
  readonly loopback?: boolean
  /** Default: as `PushLimits` says. */
  readonly limits?: Partial<PushLimits>
}

/** Options for the delivery of pushes. */
export interface PushSettings extends PushOptions {
  readonly signer?: CardSigner
  readonly secrets?: SecretBox
}

/** Undefined if pushes are disabled. */
export function pushOptions({ push = false, signer, secrets }: A2aOptions): PushSettings | undefined {
  if (push === false) return undefined
  return {
    ...(push === true ? {} : push),
    ...(signer !== undefined && { signer }),
    ...(secrets !== undefined && { secrets }),
  }
}

/** Fields of an agent card that the component itself does not have. */
export interface AgentCardOptions {
  /** Serve streams and subscriptions. `false` refuses them and declares that on the card. Default: true. */
  readonly streaming?: boolean
  /** Version of the agent. Default: the component's, else the server's. */
  readonly version?: string
  /** Default: none. */
  readonly provider?: AgentCard['provider']
  /** Default: none. */
  readonly documentationUrl?: string
  /** Default: none. */
  readonly iconUrl?: string
  /** Default: one skill, the component itself. */
  readonly skills?: readonly AgentSkill[]
  /** Accepted media types; messages with others are rejected. Default: any. */
  readonly inputModes?: readonly string[]
  /** Media types of the output. Default: `text/plain`, `application/json`, any. */
  readonly outputModes?: readonly string[]
  /** Further extensions of the agent. Default: none. */
  readonly extensions?: readonly AgentExtension[]
  /** The agent may respond with a message instead of a task, so streams start only with its first event. Default: false. */
  readonly answersDirectly?: boolean
}
