/** `node scripts/gen-cli-doc.ts`: generates docs/cli.md from the command definitions. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogue } from '../src/cli/catalogue.ts'
import { type Command, usageLine } from '../src/cli/command.ts'
import { exitTable } from '../src/cli/exit-codes.ts'
import { configOptions } from '../src/server/config/config-options.ts'
import { flagName, type OptionTable } from '../src/server/config/options.ts'
import { targetOptions } from '../src/cli/target/target.ts'
import { root } from './command.ts'

export const cliPagePath = join(root, 'docs', 'cli.md')

export async function cliPage(): Promise<string> {
  const commands = await Promise.all(
    Object.entries(catalogue).map(async ([name, { summary, load }]) => ({ name, summary, command: await load() })),
  )
  const list = commands.map(({ name, summary }) => `| [\`${name}\`](#holdfast-${name}) | ${summary} |`)
  const codes = Object.values(exitTable).map(({ code, meaning }) => `| ${code} | ${meaning} |`)
  return [
    INTRODUCTION,
    ['| command | |', '| --- | --- |', ...list].join('\n'),
    WHERE,
    optionRows(targetOptions),
    SHOWN,
    '## Exit codes',
    ['| code | |', '| --- | --- |', ...codes].join('\n'),
    ...commands.flatMap(({ name, command }) => section(name, command)),
  ]
    .join('\n\n')
    .concat('\n')
}

function section(name: string, command: Command): string[] {
  const { about, examples, options } = command
  const width = Math.max(0, ...examples.map((example) => example.command.length))
  const lines = examples.map(({ command: line, description }) => `${line.padEnd(width)}   # ${description}`)
  return [
    `## holdfast ${name}`,
    `    ${usageLine(name, command)}`,
    about.replaceAll('<', '&lt;'),
    ...(lines.length === 0 ? [] : [`\`\`\`sh\n${lines.join('\n')}\n\`\`\``]),
    ...optionsOf(options),
  ]
}

/** Common options are documented once. */
function optionsOf(options: OptionTable): string[] {
  if (options === configOptions) return ['Options: see [config.md](config.md).']
  const shared = Object.keys(targetOptions).every(
    (name) => options[name] === targetOptions[name as keyof typeof targetOptions],
  )
  const own = Object.entries(options).filter(([name]) => !shared || !(name in targetOptions))
  return [
    ...(own.length === 0 ? [] : [optionRows(Object.fromEntries(own))]),
    ...(shared
      ? [`${own.length === 0 ? 'Options' : 'Also'}: [\`--url\`, \`--key\`, \`--store\`](#servers-and-stores).`]
      : []),
  ]
}

function optionRows(options: OptionTable): string {
  const rows = Object.entries(options).map(([name, option]) => {
    const { env, fallback, value, help } = option
    const notes = [
      ...(fallback !== undefined && value !== undefined ? [`Default: \`${fallback}\`.`] : []),
      ...(env === undefined ? [] : [`Environment: \`${env}\`.`]),
    ]
    return `| \`${flagName(name, option)}\` | ${[help.replaceAll('|', '\\|'), ...notes].join(' ')} |`
  })
  return ['| option | |', '| --- | --- |', ...rows].join('\n')
}

const INTRODUCTION = `# The command line

<!-- Written by scripts/gen-cli-doc.ts from src/cli. Change it there. -->

\`holdfast COMMAND --help\` prints the same text for one command. Every option is a flag. Some can also be set by an environment variable; the flag
wins. To turn a switch off, put \`no-\` before its name. Put \`--\` before operands that begin with a dash.

If a row names no default: switches are off, filters match everything, and other options are unset.`

const WHERE = `## Servers and stores

Commands about runs use a server: the one given by \`--url\`, or the one on this machine. If no server is running, they open the local store
but execute no runs. \`run\` and \`answer\` can execute a run in their own process with the components of \`--file\`. A SQLite
store that a server uses is never opened a second time.`

const SHOWN = `## Output

| | on a terminal | in a pipe | with \`--json\` |
| --- | --- | --- | --- |
| text of the run | live | standard output, live and unchanged | in the events |
| tools, steps, members | a live tree, then permanent lines | standard error, one line each when finished | in the events |
| outcome | the last line | the last line of standard error | the last event |

A run without text prints its output value. On a terminal, control characters in text are escaped. When a run retracts text (as a retry does), a
note says so; a pipe keeps what was written. Colours appear only on terminals, and not with \`NO_COLOR\`.`

if (import.meta.main) writeFileSync(cliPagePath, await cliPage())
