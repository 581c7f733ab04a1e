/** The runs of a thread: a thread is a session, and its runs are those of one component. */
import { createHash } from 'node:crypto'
import type { Checkpoint, SharedView } from '../../../core/delivery/shared-view.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { RunStatus } from '../../../core/model/run.ts'
import type { Component } from '../../../core/ports/component.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { Service } from '../../../core/service.ts'
import { agentKind } from '../view/projection.ts'
import type { AgentFrame, AgentState } from '../view/state.ts'

const UNFINISHED: readonly RunStatus[] = ['queued', 'running', 'paused']

/** Which run of which thread a client means. */
export interface NamedRun {
  readonly threadId: string
  readonly runId: string
}

export class Threads {
  readonly service: Service

  constructor(service: Service) {
    this.service = service
  }

  /** A run of a component. Throws `not_found` for runs of others. */
  async run(principal: Principal, component: Component, id: string): Promise<StoredRun> {
    const stored = await this.service.get(principal, id)
    if (stored.run.component === component.id) return stored
    throw new HoldfastError('not_found', `no run ${id}`)
  }

  /** The run that a client of this protocol started under its own id. */
  async started(principal: Principal, component: Component, named: NamedRun): Promise<StoredRun | undefined> {
    const stored = await this.service.findStarted(principal, startKey(component, named))
    return stored?.run.component === component.id ? stored : undefined
  }

  /** Newest first. */
  async unfinished(principal: Principal, component: Component, session: string): Promise<readonly StoredRun[]> {
    const { runs } = await this.service.list(principal, { component: component.id, session, status: UNFINISHED })
    return runs
  }

  /** The newest run that has not ended, or else the newest one. */
  async current(principal: Principal, component: Component, session: string): Promise<StoredRun | undefined> {
    const [unfinished] = await this.unfinished(principal, component, session)
    if (unfinished !== undefined) return unfinished
    const { runs } = await this.service.list(principal, { component: component.id, session, limit: 1 })
    return runs[0]
  }

  /** Whether there is a run in the session, of any component. */
  async exists(principal: Principal, session: string): Promise<boolean> {
    return (await this.service.list(principal, { session, limit: 1 })).runs.length > 0
  }

  view(stored: StoredRun): SharedView<AgentState, AgentFrame> {
    const { run, first } = stored
    if (first > 0)
      throw new HoldfastError('cursor_expired', `the events of run ${run.id} before ${first} were trimmed`, {
        details: { earliest: first },
      })
    return this.service.views.open(stored, agentKind)
  }

  state(stored: StoredRun): Promise<Checkpoint<AgentState>> {
    return this.view(stored).current(stored.next)
  }
}

/** A hash, because the ids of clients may be longer than keys. */
export function startKey({ id }: Component, { threadId, runId }: NamedRun): string {
  return `ag-ui:${createHash('sha256')
    .update(JSON.stringify([id, threadId, runId]))
    .digest('hex')}`
}
