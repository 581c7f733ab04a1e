/** `holdfast export`: the log of a finished run as NDJSON. */
import { isFinished } from '../../core/model/run.ts'
import { defineCommand } from '../command.ts'
import { DONE } from '../exit-codes.ts'
import { targetOptions } from '../target.ts'
import { logLines } from '../transfer/log-lines.ts'
import { withTarget } from '../with-target.ts'

export const exportRun = defineCommand({
  operands: ['RUN'],
  about: `Writes the log of a finished run to standard output, one event a line, each exactly as it is stored. holdfast import puts it into
another store, where it is the same run. A run that is not over, or whose events were trimmed, is refused; holdfast tail --json writes
what there is.`,
  examples: [{ line: 'holdfast export run_01k… > run.ndjson', does: 'to keep, or to send along with a bug report' }],
  options: { ...targetOptions },
  run: ({ values, operands }, io) =>
    withTarget(values, io.env, async (target) => {
      const { id, status, earliest } = await target.client.runs.get(operands[0]!)
      if (!isFinished(status)) throw new Error(`${id} is ${status}: only a run that is over can be exported`)
      if (earliest > 0) throw new Error(`${id} was trimmed: its log begins at event ${earliest}`)
      for await (const line of logLines(target, id)) io.stdout.write(`${line}\n`)
      return DONE
    }),
})
