/** Responds with a run that was started or continued, in the mode that the client asked for. */
import type { Component } from '../../../core/ports/component.ts'
import { type ErrorCode, errorTable } from '../../../core/model/errors.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import { noteDurability } from '../../../http/response/note-durability.ts'
import { respondJson } from '../../../http/response/respond.ts'
import { stopWhenGone } from '../../../http/response/stop-when-gone.ts'
import { foldRun } from '../../../http/response/view.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import type { RunModes } from '../requests/input.ts'
import { runOutput } from '../view/run-output.ts'
import type { State } from '../view/state.ts'
import { statusNames } from '../wire/families.ts'
import { shownRunId } from '../wire/run-id.ts'
import { follow, followFrom } from './follow.ts'

/** Responds in one of the four modes; `since` is the log index from which the client wants events. */
export async function respondRun(
  call: Call,
  os: AgentOs,
  component: Component,
  stored: StoredRun,
  modes: RunModes,
  since: number,
): Promise<void> {
  const { id, session, status } = stored.run
  if (modes.background) noteDurability(call.response, os.service)
  if (!modes.stream && modes.background)
    return respondJson(call.response, 202, {
      run_id: shownRunId(stored.run),
      session_id: session,
      status: statusNames[status],
    })
  const leaves = modes.cancelOnDisconnect ?? (!modes.background && component.onDisconnect === 'stop')
  if (leaves) stopWhenGone(call, os.service, id)
  if (modes.stream) return follow(call, os, await followFrom(os, stored, since))
  const state = await settledState(call, os, stored)
  respondJson(call.response, modes.httpErrors ? httpStatus(state) : 200, runOutput(state))
}

/** Waits for a run's end or next pause. */
function settledState(call: Call, { service, projection }: AgentOs, { run, next }: StoredRun): Promise<State> {
  return foldRun(service, call.principal, run.id, projection, {
    until: (state, event) => state.status === 'paused' && event.index >= next - 1,
    wait: call.signal,
  })
}

function httpStatus({ status, outcome }: State): number {
  if (status === 'cancelled') return errorTable.conflict.status
  if (outcome?.error === undefined) return 200
  const { code } = outcome.error
  return Object.hasOwn(errorTable, code) ? errorTable[code as ErrorCode].status : errorTable.agent_failed.status
}
