/** The agents of a server: one per component, with its operations and card. */
import type { Component } from '../../../core/ports/component.ts'
import type { Ids } from '../../../core/ports/clock.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { AuthScheme, Principal } from '../../../core/model/principal.ts'
import type { Service } from '../../../core/service.ts'
import { type CardFacts, cardOf, extend } from '../wire/cards.ts'
import { Operations } from './operations.ts'
import type { A2aOptions } from '../wire/options.ts'
import { signCard } from '../wire/signing.ts'
import type { AgentCard } from '../wire/wire.ts'

export interface AgentsOptions {
  readonly service: Service
  readonly ids: Ids
  readonly auth: AuthScheme
  readonly version: string
  readonly options: A2aOptions
  /** Path of the protocol below the mount point, such as `/a2a`. */
  readonly path: string
}

export class Agent {
  readonly operations: Operations
  readonly #facts: CardFacts
  /** Cached per address, because signing is expensive. */
  #signed: { readonly url: string; readonly card: Promise<AgentCard> } | undefined

  constructor(component: Component, isDefault: boolean, { service, ids, auth, version, options, path }: AgentsOptions) {
    this.operations = new Operations(service, component, options, ids)
    const hasExtendedCard = auth !== 'none'
    this.#facts = { component, about: this.operations.about, options, auth, version, path, hasExtendedCard, isDefault }
  }

  /** An extended card needs authentication. */
  get hasExtendedCard(): boolean {
    return this.#facts.hasExtendedCard
  }

  card(url: string): Promise<AgentCard> {
    if (this.#signed?.url !== url) this.#signed = { url, card: this.#sign(cardOf(this.#facts, url)) }
    return this.#signed.card
  }

  extendedCard(url: string, principal: Principal): Promise<AgentCard> {
    const { component, options } = this.#facts
    const card = extend(cardOf(this.#facts, url), component)
    return this.#sign(options.extendedCard?.(card, component.id, principal) ?? card)
  }

  async #sign(card: AgentCard): Promise<AgentCard> {
    const { signer } = this.#facts.options
    return signer === undefined ? card : signCard(card, signer)
  }
}

export class Agents {
  readonly #options: AgentsOptions
  readonly #agents = new Map<string, Agent>()

  constructor(options: AgentsOptions) {
    this.#options = options
  }

  get(id: string): Agent {
    const components = this.#options.service.components()
    const component = components.find((each) => each.id === id)
    if (component === undefined) this.#options.service.noteUnknown()
    if (component === undefined) throw new HoldfastError('not_found', `agent ${id.slice(0, 100)} not found`)
    const known = this.#agents.get(id)
    // Components may be replaced while the server runs.
    if (known?.operations.component === component) return known
    const agent = new Agent(component, id === this.#defaultId, this.#options)
    this.#agents.set(id, agent)
    if (this.#agents.size > components.length) this.#forgetRemoved(components)
    return agent
  }

  /** The agent at the root of the server. */
  default(): Agent {
    const id = this.#defaultId
    if (id === undefined) throw new HoldfastError('not_found', 'this server serves no agent')
    return this.get(id)
  }
  has(id: string): boolean {
    return this.#options.service.components().some((each) => each.id === id)
  }

  #forgetRemoved(components: readonly Component[]): void {
    const served = new Set(components.map(({ id }) => id))
    for (const id of this.#agents.keys()) if (!served.has(id)) this.#agents.delete(id)
  }

  get #defaultId(): string | undefined {
    return this.#options.options.defaultComponent ?? this.#options.service.components()[0]?.id
  }
}
