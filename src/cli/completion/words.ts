/** Words that a shell can complete, from the command definitions. */
import type { Catalogue } from '../command.ts'

export interface CompletedFlag {
  readonly flag: string
  readonly help: string
  /** Placeholder for the value; a flag without it is a switch. */
  readonly value: string | undefined
  readonly takesFile: boolean
}

export interface CompletedCommand {
  readonly name: string
  readonly summary: string
  readonly flags: readonly CompletedFlag[]
  readonly takesFile: boolean
}

const FILES = ['FILE', '[FILE]', 'PATH', 'DIRECTORY']

export async function completedCommands(catalogue: Catalogue): Promise<CompletedCommand[]> {
  return Promise.all(
    Object.entries(catalogue).map(async ([name, { summary, load }]) => {
      const { options, operands } = await load()
      const flags = Object.entries(options).map(([option, { help, value }]) => ({
        flag: `--${option}`,
        help,
        value,
        takesFile: value !== undefined && FILES.includes(value),
      }))
      const all = flags.some(({ flag }) => flag === '--help') ? flags : [...flags, HELP]
      return { name, summary, flags: all, takesFile: operands.some((operand) => FILES.includes(operand)) }
    }),
  )
}

const HELP: CompletedFlag = { flag: '--help', help: 'Show help.', value: undefined, takesFile: false }

/** Escapes text for single quotes in any of the shells. */
export function quoted(text: string, escape = `'\\''`): string {
  return `'${text.replaceAll("'", escape)}'`
}
