/** `holdfast export`: writes the log of a finished run as NDJSON. */
import { isFinished } from '../../core/model/run.ts'
import { defineCommand } from '../command.ts'
import { DONE } from '../exit-codes.ts'
import { targetOptions } from '../target/target.ts'
import { logLines } from '../transfer/log-lines.ts'
import { withTarget } from '../target/with-target.ts'

export const exportRun = defineCommand({
  operands: ['RUN'],
  about: `Writes the log of a finished run to standard output as NDJSON, one event per line, exactly as stored. holdfast import
loads it into another store under the same id. Unfinished and trimmed runs are refused; use holdfast tail --json for
those.`,
  examples: [
    { command: 'holdfast export run_01k… > run.ndjson', description: 'to archive, or to attach to a bug report' },
  ],
  options: { ...targetOptions },
  run: ({ values, operands }, io) =>
    withTarget(values, io.env, async (target) => {
      const { id, status, earliest } = await target.client.runs.get(operands[0]!)
      if (!isFinished(status)) throw new Error(`${id} is ${status}: only finished runs can be exported`)
      if (earliest > 0) throw new Error(`${id} was trimmed: its log begins at event ${earliest}`)
      for await (const line of logLines(target, id)) io.stdout.write(`${line}\n`)
      return DONE
    }),
})
