/** `holdfast stop`: stops a run. */
import { isFinished } from '../../core/model/run.ts'
import { toDuration, toText } from '../../server/config/option-values.ts'
import { defineCommand } from '../command.ts'
import { DONE, FAILED } from '../exit-codes.ts'
import { targetOptions } from '../target/target.ts'
import { withTarget } from '../target/with-target.ts'

export const stop = defineCommand({
  operands: ['RUN'],
  about: `Requests a stop and waits for the run to end. The agent gets a grace period to clean up. Stopping a run twice, or one
that has finished, changes nothing.`,
  examples: [
    { command: 'holdfast stop run_01k… --reason "wrong customer"', description: 'the reason is recorded in the log' },
  ],
  options: {
    ...targetOptions,
    reason: { value: 'TEXT', parse: toText, help: 'Reason, recorded in the log.' },
    wait: { value: 'DURATION', fallback: '30s', parse: toDuration, help: 'How long to wait for the run to end.' },
  },
  run: ({ values, operands }, io) =>
    withTarget(values, io.env, async ({ client, flags }) => {
      const { reason, wait } = values
      const { id, status } = await client.runs.stop(operands[0]!, {
        waitMs: wait,
        ...(reason !== undefined && { reason }),
      })
      if (isFinished(status)) {
        io.stdout.write(status === 'cancelled' ? `${id} was stopped\n` : `${id} had already finished: ${status}\n`)
        return DONE
      }
      io.stderr.write(
        `${id} is still ${status}. The stop is recorded; follow the run with  holdfast tail ${id}${flags}\n`,
      )
      return FAILED
    }),
})
