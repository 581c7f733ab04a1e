/** `holdfast tail`: follows a run that exists. */
import { toCount, toSwitch } from '../../server/option-values.ts'
import { defineCommand } from '../command.ts'
import { followRun } from '../follow.ts'
import { targetOptions } from '../target.ts'
import { withTarget } from '../with-target.ts'

export const tail = defineCommand({
  operands: ['RUN'],
  about: `Shows a run from its beginning, or from an event on, and follows it to its end. A connection that breaks is opened again where it
was; a server that restarts is waited for. Ctrl-C leaves, and the run goes on. The exit code is that of the run.`,
  examples: [
    { line: 'holdfast tail run_01k…', does: 'the whole run, then what comes' },
    { line: 'holdfast tail run_01k… --after 41 --json', does: 'events 42, 43 and so on, as JSON' },
  ],
  options: {
    ...targetOptions,
    after: { value: 'INDEX', parse: toCount(0, 1e15), help: 'Index of the last event that you have.' },
    json: { fallback: 'false', parse: toSwitch, help: 'Print every event as a line of JSON.' },
  },
  run: ({ values, operands }, io) =>
    withTarget(values, io.env, async (target) => {
      const handle = target.client.runs.open(operands[0]!)
      await handle.get()
      const { json, after } = values
      return followRun(handle, target, io, { json, secondInterrupt: 'none', ...(after !== undefined && { after }) })
    }),
})
