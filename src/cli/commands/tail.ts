/** `holdfast tail`: follows an existing run. */
import { toCount, toSwitch } from '../../server/config/option-values.ts'
import { defineCommand } from '../command.ts'
import { followRun } from '../display/follow.ts'
import { targetOptions } from '../target/target.ts'
import { withTarget } from '../target/with-target.ts'

export const tail = defineCommand({
  operands: ['RUN'],
  about: `Shows a run from its beginning, or after an event, and follows it to its end. It reconnects after a broken connection or
a server restart and resumes from its cursor. Ctrl-C detaches and the run continues. The exit code is the run's outcome.`,
  examples: [
    { command: 'holdfast tail run_01k…', description: 'the whole run, then live' },
    { command: 'holdfast tail run_01k… --after 41 --json', description: 'events 42, 43 and so on, as JSON' },
  ],
  options: {
    ...targetOptions,
    after: {
      value: 'INDEX',
      parse: toCount(0, 1e15),
      help: 'Cursor: index of the last event that you have. Default: from the beginning.',
    },
    json: { fallback: 'false', parse: toSwitch, help: 'Print one JSON object per event.' },
  },
  run: ({ values, operands }, io) =>
    withTarget(values, io.env, async (target) => {
      const handle = target.client.runs.open(operands[0]!)
      await handle.get()
      const { json, after } = values
      return followRun(handle, target, io, { json, secondInterrupt: 'none', ...(after !== undefined && { after }) })
    }),
})
