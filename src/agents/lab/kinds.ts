/** The lab as an agent, as a team whose member runs the script, and as a workflow whose step does. */
import type { Component, ComponentKind } from '../../core/ports/component.ts'
import { labAgent, labInput } from './agent.ts'

/** Everything that `--lab` serves. */
export function labComponents(): Component[] {
  return [
    labAgent(),
    labAgent({ id: 'lab-retry', recovery: 'retry' }),
    labAgent({ id: 'lab-resume', recovery: 'resume' }),
    labTeam(),
    labWorkflow(),
  ]
}

/** A team whose member executes its input as a script, as `labAgent` does. */
export function labTeam(): Component<string> {
  return calling('lab-team', 'team', 'A member, the lab agent, runs the script.', (script, context) =>
    context.call(labAgent(), script),
  )
}

/** A workflow whose step executes its input as a script, as `labAgent` does. */
export function labWorkflow(): Component<string> {
  return calling('lab-workflow', 'workflow', 'A step runs the script.', (script, context) =>
    context.step('script', () => context.call(labAgent(), script), { kind: 'agent' }),
  )
}

function calling(
  id: string,
  kind: ComponentKind,
  description: string,
  call: (script: string, context: Parameters<Component['run']>[1]) => Promise<unknown>,
): Component<string> {
  return {
    id,
    kind,
    name: 'Lab',
    description,
    recovery: 'resume',
    input: labInput,
    // oxlint-disable-next-line require-yield -- all that is emitted is the lab agent's
    async *run(script, context) {
      return await call(script, context)
    },
  }
}
