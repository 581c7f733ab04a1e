/** `holdfast run`: starts a run and follows it. */
import { HoldfastError } from '../../core/model/errors.ts'
import { toSwitch, toText } from '../../server/config/option-values.ts'
import type { OptionTable } from '../../server/config/options.ts'
import { loadComponents } from '../loading/load-components.ts'
import { defineCommand } from '../command.ts'
import { DONE } from '../exit-codes.ts'
import { followRun } from '../display/follow.ts'
import { argumentValue, VALUE_RULE, valueOptions } from '../argument-value.ts'
import { isInteractive, styleOf } from '../terminal/style.ts'
import { type Target, targetOptions } from '../target/target.ts'
import { withTarget } from '../target/with-target.ts'

const options = {
  ...targetOptions,
  file: {
    value: 'FILE',
    parse: toText,
    help: 'If no server is running, execute the run in this process with the components of this module.',
  },
  session: { value: 'ID', parse: toText, help: 'Session of the run. Default: a new session.' },
  detach: { fallback: 'false', parse: toSwitch, help: 'Start the run, print its id and exit.' },
  json: { fallback: 'false', parse: toSwitch, help: 'Print one JSON object per event.' },
  ...valueOptions,
} as const satisfies OptionTable

export const run = defineCommand({
  operands: ['COMPONENT', 'INPUT'],
  about: `Starts a run and follows it. On a terminal, the text appears as it arrives, with a live tree of tools, steps and
members. In a pipe, text goes to standard output and everything else to standard error, in plain lines.

Ctrl-C detaches: the run continues, and the command prints how to follow it again. Ctrl-C twice stops the run. The exit
code is the run's outcome: 0 if it completed, 3 if it failed. In a pipe, a run that pauses for an answer ends the
command with 6.

${VALUE_RULE}`,
  examples: [
    { command: 'holdfast run storyteller "the sea"', description: 'start and follow' },
    { command: 'holdfast run summarize - < page.txt > summary.txt', description: 'input from a file, text to another' },
    {
      command: 'id=$(holdfast run publish "bees" --detach)',
      description: 'start only; follow it later with holdfast tail $id',
    },
    { command: 'holdfast run assistant "hello" --file agents.ts', description: 'without a server' },
  ],
  options,
  async run({ values, operands }, io) {
    const [component, inputText] = operands as [string, string]
    const input = await argumentValue(inputText, values.text)
    const components = values.file === undefined ? undefined : await loadComponents(values.file)
    return withTarget(
      values,
      io.env,
      async (target) => {
        await checkComponent(target, component, values.file)
        if (target.local && values.detach)
          throw new HoldfastError('invalid_request', '--detach needs a server: the run would end with this command')
        const { session } = values
        const started = await target.client.runs.start({ component, input, ...(session !== undefined && { session }) })
        if (values.detach) {
          io.stdout.write(`${started.id}\n`)
          return DONE
        }
        const output = isInteractive(io.stdout, io.env) && !values.json ? io.stdout : io.stderr
        output.write(`${styleOf(output, io.env).dim(`run ${started.id}`)}\n`)
        return followRun(started, target, io, { json: values.json, secondInterrupt: 'stop' })
      },
      components === undefined ? {} : { components },
    )
  },
})

/** Checks the name before the start, to give a more helpful error than the server's. */
async function checkComponent(target: Target, component: string, file: string | undefined): Promise<void> {
  const known = (await target.client.components.list()).map(({ id }) => id)
  if (known.includes(component)) return
  if (target.local && file === undefined) {
    throw new Error(
      'no server is running: start one with  holdfast serve FILE,  select one with --url, or execute the run here with --file FILE',
    )
  }
  const some = known.slice(0, 20).join(', ')
  throw new Error(`unknown component ${JSON.stringify(component)}: the server has ${some}`)
}
