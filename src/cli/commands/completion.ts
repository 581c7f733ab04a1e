/** `holdfast completion`: prints a shell completion script. */
import { HoldfastError } from '../../core/model/errors.ts'
import { type Catalogue, type Command, defineCommand } from '../command.ts'
import { bashScript, fishScript, zshScript } from '../completion/scripts.ts'
import { type CompletedCommand, completedCommands } from '../completion/words.ts'
import { DONE } from '../exit-codes.ts'

const shells: Readonly<Record<string, (commands: readonly CompletedCommand[]) => string>> = {
  bash: bashScript,
  zsh: zshScript,
  fish: fishScript,
}

export function completionOf(catalogue: Catalogue): Command {
  return defineCommand({
    operands: ['SHELL'],
    about: `Prints a completion script for bash, zsh or fish. It completes commands, options and files.`,
    examples: [
      { command: 'source <(holdfast completion bash)', description: 'in ~/.bashrc' },
      { command: 'source <(holdfast completion zsh)', description: 'in ~/.zshrc, below compinit' },
      { command: 'holdfast completion fish | source', description: 'in ~/.config/fish/config.fish' },
    ],
    options: {},
    async run({ operands: [shell = ''] }, io) {
      const script = Object.hasOwn(shells, shell) ? shells[shell] : undefined
      if (script === undefined)
        throw new HoldfastError(
          'invalid_request',
          `${JSON.stringify(shell)} is not a supported shell: use ${Object.keys(shells).join(', ')}`,
        )
      io.stdout.write(script(await completedCommands(catalogue)))
      return DONE
    },
  })
}
