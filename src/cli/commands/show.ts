/** `holdfast show`: shows a run's current state. */
import { isTerminalEvent } from '../../core/structure/run-status.ts'
import { type RunInfo, RunText } from '../../client/index.ts'
import { toSwitch } from '../../server/config/option-values.ts'
import { defineCommand } from '../command.ts'
import { lineText, valueText } from '../display/lines.ts'
import { type Line, RunTree } from '../display/tree.ts'
import { DONE } from '../exit-codes.ts'
import type { CommandIo } from '../io.ts'
import { type Style, styleOf } from '../terminal/style.ts'
import { printable } from '../../core/model/printable.ts'
import { duration, inOneLine } from '../terminal/text.ts'
import { type Target, targetOptions } from '../target/target.ts'
import { withTarget } from '../target/with-target.ts'

export const show = defineCommand({
  operands: ['RUN'],
  about: `Shows a run's current state: input, steps, text, and its outcome or its open questions. It does not wait for the run;
holdfast tail does. The exit code is 0 whatever the outcome of the run.`,
  examples: [{ command: 'holdfast show run_01k… --json', description: 'the run as JSON, without its events' }],
  options: { ...targetOptions, json: { fallback: 'false', parse: toSwitch, help: 'Print the run as JSON.' } },
  run: ({ values, operands }, io) =>
    withTarget(values, io.env, async (target) => {
      const run = await target.client.runs.get(operands[0]!)
      if (values.json) io.stdout.write(`${JSON.stringify(run, null, 2)}\n`)
      else await describe(run, target, io)
      return DONE
    }),
})

interface RunDescription {
  readonly lines: readonly string[]
  readonly input: unknown
  readonly text: string
  /** Index of the first event that was not trimmed. */
  readonly earliest: number
}

async function describe(run: RunInfo, target: Target, io: CommandIo): Promise<void> {
  const style = styleOf(io.stdout, io.env)
  const { lines, input, text, earliest } = await read(run, target, style)
  const section = (title: string, body: string): string =>
    body === '' ? '' : `\n${style.bold(title)}\n${printable(body)}\n`
  io.stdout.write(fieldsText(run, style))
  if (earliest > 0) io.stdout.write(`\nEvents before ${earliest} were trimmed.\n`)
  if (input !== undefined) io.stdout.write(section('Input', valueText(input)))
  if (lines.length > 0) io.stdout.write(`\n${style.bold('Done')}\n${lines.join('\n')}\n`)
  io.stdout.write(section('Text', text))
  if (run.output !== undefined && run.output !== text) io.stdout.write(section('Output', valueText(run.output)))
  for (const { id, prompt } of run.waiting ?? [])
    io.stdout.write(`\n${style.yellow('?')} ${printable(prompt)} ${style.dim(`(${inOneLine(id, 300)})`)}\n`)
  if (run.waiting !== undefined) io.stdout.write(`  Answer with:  holdfast answer ${run.id} ANSWER${target.flags}\n`)
}

async function read(
  { id, events: count, waiting }: RunInfo,
  { client }: Target,
  style: Style,
): Promise<RunDescription> {
  const tree = new RunTree()
  const text = new RunText()
  const lines: Line[] = []
  let input: unknown
  let earliest = 0
  for await (const event of client.runs.events(id, { onGap: (gap) => (earliest = gap.earliest) })) {
    if (event.type === 'run.created') input = event.data.input
    text.apply(event)
    lines.push(...tree.apply(event))
    if (isTerminalEvent(event) || event.index >= count - 1) break
  }
  const open = tree.open.map(({ depth, text: name }): Line => ({ depth, mark: 'started', text: name }))
  // Open questions are shown below, with instructions.
  const done = waiting === undefined ? lines : lines.filter(({ mark }) => mark !== 'asked')
  return { lines: [...done, ...open].map((line) => lineText(line, style)), input, text: text.value, earliest }
}

function fieldsText(run: RunInfo, style: Style): string {
  const end = run.finishedAt ?? run.updatedAt
  const fields: readonly (readonly [string, string | undefined])[] = [
    ['Run', run.id],
    ['Component', run.component],
    ['Version', run.version],
    ['Session', run.session],
    ['Status', run.status],
    ['Created', run.createdAt],
    ['Took', run.startedAt === undefined ? undefined : duration(Date.parse(end) - Date.parse(run.startedAt))],
    ['Attempts', run.attempt > 1 ? String(run.attempt) : undefined],
    ['Events', String(run.events)],
    ['Protocol', run.protocol],
    ['Error', run.error === undefined ? undefined : `${run.error.code}: ${run.error.message}`],
    ['Reason', run.reason],
  ]
  return fields
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => `${style.dim(name.padEnd(10))} ${printable(value!)}\n`)
    .join('')
}
