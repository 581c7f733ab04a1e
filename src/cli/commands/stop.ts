/** `holdfast stop`: stops a run. */
import { isFinished } from '../../core/model/run.ts'
import { toDuration, toText } from '../../server/option-values.ts'
import { defineCommand } from '../command.ts'
import { DONE, FAILED } from '../exit-codes.ts'
import { targetOptions } from '../target.ts'
import { withTarget } from '../with-target.ts'

export const stop = defineCommand({
  operands: ['RUN'],
  about: `Asks a run to stop, and waits for its end. The agent is given a moment to clean up. To stop a run again, or one that has ended,
changes nothing.`,
  examples: [{ line: 'holdfast stop run_01k… --reason "wrong customer"', does: 'the reason is kept in its log' }],
  options: {
    ...targetOptions,
    reason: { value: 'TEXT', parse: toText, help: 'Why; kept in the log.' },
    wait: { value: 'DURATION', fallback: '30s', parse: toDuration, help: 'How long to wait for the end.' },
  },
  run: ({ values, operands }, io) =>
    withTarget(values, io.env, async ({ client, flags }) => {
      const { reason, wait } = values
      const { id, status } = await client.runs.stop(operands[0]!, {
        waitMs: wait,
        ...(reason !== undefined && { reason }),
      })
      if (isFinished(status)) {
        io.stdout.write(status === 'cancelled' ? `${id} is stopped\n` : `${id} had ended before: it is ${status}\n`)
        return DONE
      }
      io.stderr.write(`${id} is still ${status}; the stop is noted.  holdfast tail ${id}${flags}  shows its end\n`)
      return FAILED
    }),
})
