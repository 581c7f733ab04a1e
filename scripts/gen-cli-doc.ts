/** `node scripts/gen-cli-doc.ts`: writes docs/cli.md from the commands themselves. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { catalogue } from '../src/cli/catalogue.ts'
import { type Command, usageLine } from '../src/cli/command.ts'
import { exitTable } from '../src/cli/exit-codes.ts'
import { configOptions } from '../src/server/config-options.ts'
import { flagName, type OptionTable } from '../src/server/options.ts'
import { targetOptions } from '../src/cli/target.ts'
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
  const width = Math.max(0, ...examples.map(({ line }) => line.length))
  const lines = examples.map(({ line, does }) => `${line.padEnd(width)}   # ${does}`)
  return [
    `## holdfast ${name}`,
    `    ${usageLine(name, command)}`,
    about.replaceAll('<', '&lt;'),
    ...(lines.length === 0 ? [] : [`\`\`\`sh\n${lines.join('\n')}\n\`\`\``]),
    ...optionsOf(options),
  ]
}

/** Options that many commands have are told once. */
function optionsOf(options: OptionTable): string[] {
  if (options === configOptions) return ['Its options are those of [config.md](config.md).']
  const shared = Object.keys(targetOptions).every(
    (name) => options[name] === targetOptions[name as keyof typeof targetOptions],
  )
  const own = Object.entries(options).filter(([name]) => !shared || !(name in targetOptions))
  return [
    ...(own.length === 0 ? [] : [optionRows(Object.fromEntries(own))]),
    ...(shared
      ? [`${own.length === 0 ? 'It takes' : 'And'} the options that say [where the runs are](#where-the-runs-are).`]
      : []),
  ]
}

function optionRows(options: OptionTable): string {
  const rows = Object.entries(options).map(([name, option]) => {
    const { env, fallback, value, help } = option
    const notes = [
      ...(fallback !== undefined && value !== undefined ? [`default \`${fallback}\``] : []),
      ...(env === undefined ? [] : [`\`${env}\``]),
    ]
    return `| \`${flagName(name, option)}\` | ${help.replaceAll('|', '\\|')}${notes.length === 0 ? '' : ` (${notes.join('; ')})`} |`
  })
  return ['| option | |', '| --- | --- |', ...rows].join('\n')
}

const INTRODUCTION = `# The command line

<!-- Written by scripts/gen-cli-doc.ts from src/cli. Change it there. -->

\`holdfast COMMAND --help\` says what is said here of a command. Every option is a flag; where a variable is named, it gives the option,
too, and the flag wins. A switch is turned off with \`no-\` put before its name. What begins with a dash and is no option goes behind \`--\`.`

const WHERE = `## Where the runs are

Commands about runs talk to a server: the one of \`--url\`, or the one on this machine. Where no server answers they open the local store
themselves, and then drive nothing: to look at a run never changes it. \`run\` and \`input\` can drive a run there with the components of
\`--file\`. A store that a server uses is never opened beside it.`

const SHOWN = `## What is shown where

| | on a terminal | in a pipe | with \`--json\` |
| --- | --- | --- | --- |
| what the run says | as it comes | standard output, as it comes, unchanged | in the events |
| tools, steps, members | a tree that moves, then lines that stay | standard error, a line each when it is over | in the events |
| how it ended | the last line | the last line of standard error | the last event |

A run that says nothing and returns something shows what it returns. On a terminal, control characters in what a run says are shown and
not obeyed. What a run withdraws (a retry does) is told where it happens; it cannot be taken out of a pipe. Colours are only on
terminals, and not with \`NO_COLOR\`.`

if (import.meta.main) writeFileSync(cliPagePath, await cliPage())
