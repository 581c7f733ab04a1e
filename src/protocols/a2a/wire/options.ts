/** What a server says about how it speaks A2A. */
import type { Principal } from '../../../core/model/principal.ts'
import type { SecretBox } from '../../../core/ports/secret-box.ts'
import type { ErrorTable } from './errors.ts'
import type { PushLimits } from '../push/limits.ts'
import type { CardSigner } from './signing.ts'
import type { AgentCard, AgentExtension, AgentSkill } from './wire.ts'

export interface A2aOptions {
  /** Component whose card is at the root; the first one where nothing is said. */
  readonly default?: string
  /** Where clients reach the server, such as `https://agents.example`; what they asked for, where nothing is said. */
  readonly url?: string
  /** Which statuses errors have: 1.0.1 of the specification where nothing is said. */
  readonly errorTable?: ErrorTable
  /** Which card those get who do not say what they speak: one that both versions can read where nothing is said. */
  readonly unversionedCard?: 'both' | '1.0'
  /** Signs the cards, and the pushes. */
  readonly signer?: CardSigner
  /** Whether a message that is sent again is the same task; it is where nothing is said. */
  readonly idempotent?: boolean
  /** Whether subscriptions to pushes are taken, and how they are delivered; they are not taken where nothing is said. */
  readonly push?: boolean | PushOptions
  /** Encrypts the credentials of push configurations. `createServer` makes it from `secretKeys`; without it they are refused. */
  readonly secrets?: SecretBox
  /** Serves gRPC too, which has a port of its own; 0 takes a free one. */
  readonly grpcPort?: number
  /** Address of the gRPC binding as cards name it; where it listens, where nothing is said. */
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
  /** Media types that it takes: a message with another is refused. It takes any where nothing is said. */
  readonly inputModes?: readonly string[]
  readonly outputModes?: readonly string[]
  readonly extensions?: readonly AgentExtension[]
  /** It may answer with a message instead of a task, so streams begin only when it says the first thing. */
  readonly answersDirectly?: boolean
}
