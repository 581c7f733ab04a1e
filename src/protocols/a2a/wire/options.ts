/** What a server says about how it speaks A2A. */
import type { Principal } from '../../../core/model/principal.ts'
import type { SecretBox } from '../../../core/ports/secret-box.ts'
import type { ErrorTable } from './errors.ts'
import type { PushLimits } from '../push/limits.ts'
import type { CardSigner } from './signing.ts'
import type { AgentCard, AgentExtension, AgentSkill } from './wire.ts'

export interface A2aOptions {
  /** Component whose card is at the root. Default: the first one. */
  readonly default?: string
  /** Public address of the server, such as `https://agents.example`. Default: the address of the request. */
  readonly url?: string
  /** Version of the specification for error statuses. Default: 1.0.1. */
  readonly errorTable?: ErrorTable
  /** Card for clients that send no A2A-Version. Default: one that 0.3 and 1.0 can read. */
  readonly unversionedCard?: 'both' | '1.0'
  /** Signs the cards, and the pushes. Needs `url`. */
  readonly signer?: CardSigner
  /** Whether a repeated message is the same task. Default: true. */
  readonly idempotent?: boolean
  /** Push notifications: whether they are offered, and how they are delivered. Default: not offered. */
  readonly push?: boolean | PushOptions
  /** Encrypts the credentials of push configurations. `createServer` makes it from `secretKeys`; without it they are refused. */
  readonly secrets?: SecretBox
  /** Serves gRPC too, which has a port of its own; 0 takes a free one. */
  readonly grpcPort?: number
  /** Address of the gRPC binding on cards. Default: where it listens. */
  readonly grpcUrl?: string
  /** What a caller who is known is shown instead of the public card. */
  readonly extendedCard?: (card: AgentCard, component: string, principal: Principal) => AgentCard
  /** More about a component than it says itself, by its id. */
  readonly agents?: Readonly<Record<string, AgentCardOptions>>
}

export interface PushOptions {
  /** Whether pushes may go to this machine itself; other addresses that are not public never get any. */
  readonly loopback?: boolean
  readonly limits?: Partial<PushLimits>
}

/** What whoever delivers pushes has to know. */
export interface PushSettings extends PushOptions {
  readonly signer?: CardSigner
  readonly secrets?: SecretBox
}

/** Undefined where no pushes are sent. */
export function pushOptions({ push = false, signer, secrets }: A2aOptions): PushSettings | undefined {
  if (push === false) return undefined
  return {
    ...(push === true ? {} : push),
    ...(signer !== undefined && { signer }),
    ...(secrets !== undefined && { secrets }),
  }
}

export interface AgentCardOptions {
  readonly version?: string
  readonly provider?: AgentCard['provider']
  readonly documentationUrl?: string
  readonly iconUrl?: string
  readonly skills?: readonly AgentSkill[]
  /** Accepted media types; a message with another is refused. Default: any. */
  readonly inputModes?: readonly string[]
  readonly outputModes?: readonly string[]
  readonly extensions?: readonly AgentExtension[]
  /** It may answer with a message instead of a task, so streams begin only when it says the first thing. */
  readonly answersDirectly?: boolean
}
