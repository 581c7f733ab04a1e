/** Runs the agent of one attempt: iterates it, passes on what it emits, and ends the run when the agent returns or throws. */
import { runComponent } from './run-component.ts'
import { WorkError, type Emission, type RunContext } from '../ports/component.ts'
import { messageOf, readable } from '../model/errors.ts'
import { type Event, eventTable } from '../model/event.ts'
import type { AgentCode } from './agent-code.ts'
import { countedKeys } from './branches.ts'
import { createContext } from './context.ts'
import { batchOf, encodeBatch, encodeOrReplace } from './emission.ts'
import { type ExecutionHost, hostOf } from './execution-host.ts'
import type { RunExecution } from './run-execution.ts'
import { WriteRefusedError } from './run-log.ts'

interface RunningAgent {
  readonly execution: RunExecution
  readonly code: AgentCode
  readonly host: ExecutionHost
}

export async function runAgent(execution: RunExecution, code: AgentCode): Promise<void> {
  const agent: RunningAgent = { execution, code, host: hostOf(execution) }
  try {
    const { component, input } = execution.options
    const iterator = code.open(runComponent(component, input, contextOf(agent)))
    for (;;) {
      const { done, value } = await iterator.next()
      if (execution.isOver) return
      if (done === true)
        return await conclude(agent, { type: 'run.completed', data: value === undefined ? {} : { output: value } })
      const wait = emit(agent, value)
      if (wait !== undefined) await wait
      if (execution.isOver) return
    }
  } catch (thrown) {
    await concludeThrown(agent, readable(thrown))
  } finally {
    if (execution.isOver) code.close()
  }
}

function contextOf({ execution, code, host }: RunningAgent): RunContext {
  const { id: runId, session: sessionId, owner, metadata = {}, attempt } = execution.run
  return createContext({
    host,
    facts: { runId, sessionId, owner, metadata, attempt },
    signal: code.signal,
    uncertain: execution.options.component.onUncertainTool ?? 'ask',
    onUnserializable: execution.options.component.onUnserializable ?? 'fail',
    actor: undefined,
    prefix: '',
    within: '',
    branch: undefined,
    counted: countedKeys(''),
    depth: 0,
  })
}

/** Handles one emission. Returns a promise if the agent must wait (backpressure). */
function emit(agent: RunningAgent, emission: Emission): Promise<void> | undefined {
  const { execution } = agent
  const batch = batchOf(emission)
  if (batch !== undefined) return execution.appendTogether(encodeBatch(batch, execution.bounds))
  const { onUnserializable = 'fail' } = execution.options.component
  const encoded = encodeOrReplace(emission, execution.bounds, onUnserializable)
  if (eventTable[encoded.type].effect === 'terminal')
    return conclude(agent, withFailureId(execution, emission as Event))
  return execution.append(encoded)
}

/** Adds an id to a failure that the agent emitted, to find it in the server log. */
function withFailureId(execution: RunExecution, event: Event): Event {
  if (event.type !== 'run.failed') return event
  return { ...event, data: { ...event.data, error: execution.failureOf(new WorkError(event.data.error)) } }
}

/** Ends the run after the agent has ended, once the agent has requested all recorded work. */
async function conclude(agent: RunningAgent, terminal: Event): Promise<void> {
  await endReplay(agent)
  await agent.execution.finish(terminal)
}

async function concludeThrown(agent: RunningAgent, thrown: unknown): Promise<void> {
  if (!(thrown instanceof WriteRefusedError)) await endReplay(agent, { error: messageOf(thrown) })
  await agent.execution.fail(thrown)
}

async function endReplay({ host, code }: RunningAgent, failure: { readonly error?: string } = {}): Promise<void> {
  try {
    await host.replayBarrier.end({ kind: 'end', name: 'the agent', ...failure }, undefined, undefined, code.signal)
  } catch {
    // The run was stopped while this waited. Its end does not depend on the replay.
  }
}
