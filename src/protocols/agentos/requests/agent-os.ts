/** Shared context of the routes, and lookup of components and runs. */
import type { Component } from '../../../core/ports/component.ts'
import { HoldfastError, isHoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { SharedView } from '../../../core/delivery/shared-view.ts'
import type { ViewKind } from '../../../core/delivery/view-cache.ts'
import type { Projection } from '../../../core/ports/projection.ts'
import type { Service } from '../../../core/service.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { Streams } from '../../../http/response/stream.ts'
import { type FoldOptions, foldRun } from '../../../http/response/view.ts'
import type { Family } from '../wire/families.ts'
import type { UpstreamSessions } from './upstream-sessions.ts'
import { agentosProjection } from '../view/projection.ts'
import type { Frame } from '../view/frame-writer.ts'
import type { State } from '../view/state.ts'

/** The projection of a service's runs, which shows the names of its components. */
function projectionFor(components: readonly Component[]): Projection<State, Frame> {
  const byId = new Map(components.map((component) => [component.id, component]))
  return agentosProjection((id) => {
    const component = byId.get(id)
    return component === undefined ? undefined : { kind: component.kind, name: component.name ?? id }
  })
}

let versions = 0

/** Views of a service's runs. Components may be replaced; frames then have the new names. */
export class AgentOsViews {
  readonly #service: Service
  #components: readonly Component[] | undefined
  #kind: ViewKind<State, Frame> | undefined

  constructor(service: Service) {
    this.#service = service
  }

  get kind(): ViewKind<State, Frame> {
    const components = this.#service.components()
    if (this.#kind !== undefined && components === this.#components) return this.#kind
    this.#components = components
    this.#kind = {
      name: `agentos ${++versions}`,
      projection: projectionFor(components),
      position: ({ next }) => next,
      mayEnd: ({ pauses }) => pauses,
    }
    return this.#kind
  }

  open(stored: Pick<StoredRun, 'run' | 'first'>): SharedView<State, Frame> {
    return this.#service.views.open(stored, this.kind)
  }
}

/** Idempotency key of a client-chosen run id. A repeated start returns the same run (RUN-4). */
export function keyOfRunId(id: string): string {
  return `agentos:run_id:${id}`
}

export class AgentOs {
  readonly service: Service
  readonly streams: Streams
  readonly views: AgentOsViews
  readonly upstreamSessions: UpstreamSessions | undefined

  /** `upstreamSessions`: listed together with the sessions of this server. Default: none. */
  constructor(service: Service, streams: Streams, upstreamSessions?: UpstreamSessions) {
    this.service = service
    this.streams = streams
    this.upstreamSessions = upstreamSessions
    this.views = new AgentOsViews(service)
  }

  get projection(): Projection<State, Frame> {
    return this.views.kind.projection
  }

  components(family: Family): readonly Component[] {
    return this.service.components().filter(({ kind }) => kind === family.kind)
  }

  /** The component in the path, if it belongs to the family. */
  component(family: Family, call: Call): Component {
    const id = call.params['id']!
    const components = this.components(family)
    const found = components.find((each) => each.id === id) ?? components.find((each) => each.upstream?.id === id)
    if (found === undefined) this.service.noteUnknown()
    if (found === undefined) throw new HoldfastError('not_found', `${family.title} not found`)
    return found
  }

  /** Finds a run of the caller, and of the given component and session. Other runs count as not found (SEC-1). */
  async findRun(
    principal: Principal,
    component: string,
    id: string,
    session: string | undefined,
  ): Promise<StoredRun | undefined> {
    const found = await this.service.get(principal, id).catch((cause: unknown) => {
      if (isHoldfastError(cause, 'not_found')) return undefined
      throw cause
    })
    const stored = found ?? (await this.service.findStarted(principal, keyOfRunId(id)))
    if (stored === undefined || stored.run.component !== component) return undefined
    return session === undefined || stored.run.session === session ? stored : undefined
  }

  async run(principal: Principal, component: string, id: string, session: string | undefined): Promise<StoredRun> {
    const stored = await this.findRun(principal, component, id, session)
    if (stored === undefined) throw new HoldfastError('not_found', 'Run not found')
    return stored
  }

  /** The folded state of a run's current log. */
  fold(principal: Principal, id: string, options: Pick<FoldOptions<State>, 'isLookup'> = {}): Promise<State> {
    return foldRun(this.service, principal, id, this.projection, options)
  }
}
