/** From a command's name to its exit code. */
import { isHoldfastError, messageOf } from '../core/errors.ts'
import { version } from '../server/version.ts'
import type { CommandIo } from './io.ts'

interface Command {
  readonly summary: string
  load(): Promise<(argv: readonly string[], io: CommandIo) => Promise<number>>
}

const commands: Readonly<Record<string, Command>> = {
  serve: {
    summary: 'Serve the components that a module exports: holdfast serve FILE',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  demo: {
    summary: 'Serve ready-made components, to try things out',
    load: async () => (await import('./commands/demo.ts')).demo,
  },
  new: {
    summary: 'Write a small project to start from: holdfast new DIRECTORY',
    load: async () => (await import('./commands/new.ts')).newProject,
  },
  keys: { summary: 'Make, list and revoke API keys', load: async () => (await import('./commands/keys.ts')).keys },
}

const MISUSED = 2

export async function runCommand(argv: readonly string[], io: CommandIo): Promise<number> {
  const [name = 'help', ...rest] = argv
  if (name === '--version' || name === '-v') {
    io.stdout.write(`${version}\n`)
    return 0
  }
  if (name === 'help' || name === '--help' || name === '-h') {
    io.stdout.write(usage())
    return 0
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined
  if (command === undefined) {
    io.stderr.write(`holdfast: there is no command ${JSON.stringify(name)}\n\n${usage()}`)
    return MISUSED
  }
  try {
    return await (
      await command.load()
    )(rest, io)
  } catch (error) {
    io.stderr.write(`holdfast ${name}: ${messageOf(error)}\n`)
    return isHoldfastError(error) ? MISUSED : 1
  }
}

function usage(): string {
  const lines = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(8)} ${summary}`)
  return `holdfast ${version}: agent runs that outlive their connections\n\nUsage: holdfast COMMAND [options]\n\n${lines.join('\n')}\n\nholdfast COMMAND --help says more.\n`
}
