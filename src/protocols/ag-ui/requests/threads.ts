/** The runs of a thread: a thread is a session, and its runs are those of one component. */
import { createHash } from 'node:crypto'
import type { Checkpoint, SharedView } from '../../../core/delivery/shared-view.ts'
import type { Principal } from '../../../core/model/principal.ts'
import type { Component } from '../../../core/ports/component.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { assertUntrimmed, SessionRuns } from '../../../http/session-runs.ts'
import { agentKind } from '../view/projection.ts'
import type { AgentFrame, AgentState } from '../view/state.ts'

/** The thread and the client's id of a run. */
export interface NamedRun {
  readonly threadId: string
  readonly runId: string
}

export class Threads extends SessionRuns {
  /** The run that a client started under its own id. */
  async started(principal: Principal, component: Component, named: NamedRun): Promise<StoredRun | undefined> {
    const stored = await this.service.findStarted(principal, startKey(component, named))
    return stored?.run.component === component.id ? stored : undefined
  }

  /** The newest unfinished run, or else the newest one. */
  async current(principal: Principal, component: Component, session: string): Promise<StoredRun | undefined> {
    const [unfinished] = await this.unfinished(principal, component, session)
    return unfinished ?? this.newest(principal, component, session)
  }

  view(stored: StoredRun): SharedView<AgentState, AgentFrame> {
    assertUntrimmed(stored)
    return this.service.views.open(stored, agentKind)
  }

  state(stored: StoredRun): Promise<Checkpoint<AgentState>> {
    return this.view(stored).current(stored.next)
  }
}

/** Hashed, because client ids may be longer than keys. */
export function startKey({ id }: Component, { threadId, runId }: NamedRun): string {
  return `ag-ui:${createHash('sha256')
    .update(JSON.stringify([id, threadId, runId]))
    .digest('hex')}`
}
