/** The runs of a conversation, for protocols that address one component: a conversation is a session. */
import type { Component } from '../core/ports/component.ts'
import { HoldfastError, runNotFound } from '../core/model/errors.ts'
import type { Principal } from '../core/model/principal.ts'
import { unfinishedStatuses } from '../core/model/run.ts'
import type { StoredRun } from '../core/ports/store.ts'
import type { Service } from '../core/service.ts'

export class SessionRuns {
  readonly service: Service

  constructor(service: Service) {
    this.service = service
  }

  /** A run of a component. Throws `not_found` for runs of others. */
  async run(principal: Principal, component: Component, id: string): Promise<StoredRun> {
    const stored = await this.service.get(principal, id)
    if (stored.run.component === component.id) return stored
    throw runNotFound(id)
  }

  /** Newest first. */
  async unfinished(principal: Principal, component: Component, session: string): Promise<readonly StoredRun[]> {
    const query = { component: component.id, session, status: unfinishedStatuses }
    return (await this.service.list(principal, query)).runs
  }

  async newest(principal: Principal, component: Component, session: string): Promise<StoredRun | undefined> {
    return (await this.service.list(principal, { component: component.id, session, limit: 1 })).runs[0]
  }

  /** Whether the session has a run, of any component. */
  async exists(principal: Principal, session: string): Promise<boolean> {
    return (await this.service.list(principal, { session, limit: 1 })).runs.length > 0
  }
}

/** Throws if the log was trimmed: the rest would look like the whole conversation. */
export function assertUntrimmed({ run, first }: StoredRun): void {
  if (first === 0) return
  throw new HoldfastError('cursor_expired', `the events of run ${run.id} before ${first} were trimmed`, {
    details: { earliest: first },
  })
}
