/** Runs a command by name and returns its exit code. */
import { isHoldfastError, detailOf } from '../core/model/errors.ts'
import { version } from '../server/version.ts'
import { catalogue } from './catalogue.ts'
import { commandHelp } from './command.ts'
import { readEnvFiles } from './loading/env-files.ts'
import { DONE, FAILED, MISUSED, UNAVAILABLE } from './exit-codes.ts'
import type { CommandIo } from './io.ts'
import { isSupervised } from './serving/supervised.ts'
import { safeIo } from './terminal/safe-output.ts'

export async function runCommand(argv: readonly string[], given: CommandIo): Promise<number> {
  const io = safeIo(given)
  const [name = 'help', ...rest] = argv
  if (name === '--version' || name === '-v') {
    io.stdout.write(`${version}\n`)
    return DONE
  }
  if (name === 'help' || name === '--help' || name === '-h') return help(rest[0], io)
  const entry = entryOf(name)
  if (entry === undefined) return unknownCommand(name, io)
  if (asksForHelp(rest)) return help(name, io)
  try {
    const command = await entry.load()
    const env = 'env-file' in command.options ? readEnvFiles(name, rest, io.env) : io.env
    return await command.run(rest, { ...io, env })
  } catch (error) {
    io.stderr.write(`holdfast ${name}: ${detailOf(error)}\n`)
    if (isHoldfastError(error, 'unavailable')) return UNAVAILABLE
    if (isSupervised(io) && (error as NodeJS.ErrnoException).code === 'EBUSY') return UNAVAILABLE
    return isHoldfastError(error) ? MISUSED : FAILED
  }
}

function entryOf(name: string): (typeof catalogue)[string] | undefined {
  return Object.hasOwn(catalogue, name) ? catalogue[name] : undefined
}

/** Ignores arguments after `--`, which belong to the command. */
function asksForHelp(argv: readonly string[]): boolean {
  const end = argv.indexOf('--')
  const flags = end < 0 ? argv : argv.slice(0, end)
  return flags.includes('--help') || flags.includes('-h')
}

async function help(name: string | undefined, io: CommandIo): Promise<number> {
  const entry = name === undefined ? undefined : entryOf(name)
  if (name !== undefined && entry === undefined) return unknownCommand(name, io)
  io.stdout.write(name === undefined ? usage() : commandHelp(name, await entry!.load()))
  return DONE
}

function unknownCommand(name: string, io: CommandIo): number {
  io.stderr.write(`holdfast: unknown command ${JSON.stringify(name)}\n\n${usage()}`)
  return MISUSED
}

function usage(): string {
  const lines = Object.entries(catalogue).map(([name, { summary }]) => `  ${name.padEnd(10)} ${summary}`)
  return `holdfast ${version}: agent runs that outlive their connections\n\nUsage: holdfast COMMAND [options]\n\n${lines.join('\n')}\n\nRun  holdfast COMMAND --help  for options and examples.\n`
}
