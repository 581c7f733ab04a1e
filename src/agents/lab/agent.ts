/** Lab agent: its input is a script, so tests can request any behaviour over any protocol (docs/lab.md). */
import type { Component, Emission, RecoveryPolicy, RunContext } from '../../core/ports/component.ts'
import { fromCheck } from '../../core/schema/json-schema.ts'
import { perform } from './performers.ts'
import { checkScript, parseScript } from './script.ts'
import { Stage } from './stage.ts'

/** Options of `labAgent`. */
export interface LabOptions {
  /** Default: `lab`. */
  readonly id?: string
  /** Default: `fail`. */
  readonly recovery?: RecoveryPolicy
}

export const labInput = fromCheck(checkScript, {
  type: 'string',
  description: 'A script: statements separated by semicolons.',
  examples: ['text 50 every 100; tool search 300; ask "Shall I go on?"; text 20 every 50'],
})

/** An agent whose input is a script, such as `text 5; tool search; throw boom`. For tests of clients and protocols. */
export function labAgent({ id = 'lab', recovery = 'fail' }: LabOptions = {}): Component<string> {
  return {
    id,
    kind: 'agent',
    name: 'Lab',
    description: `Executes its input as a script, such as "text 5; tool search; throw boom". Recovery: ${recovery}.`,
    recovery,
    input: labInput,
    run: performScript,
  }
}

async function* performScript(script: string, context: RunContext): AsyncGenerator<Emission, void, void> {
  const stage = new Stage(context)
  for (const statement of parseScript(script)) {
    const emissions = await perform(statement, stage)
    if (emissions) yield* emissions
  }
}
