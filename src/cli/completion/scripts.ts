/** Completion scripts for bash, zsh and fish. */
import { type CompletedCommand, type CompletedFlag, quoted } from './words.ts'

export function bashScript(commands: readonly CompletedCommand[]): string {
  const cases = commands.map(({ name, flags, takesFile }) => {
    const words = flags.map(({ flag }) => flag).join(' ')
    return `    ${name}) words='${words}'; files=${takesFile ? 1 : 0} ;;\n`
  })
  const valued = (file: boolean): string =>
    [
      ...new Set(
        commands.flatMap(({ flags }) => flags.filter((each) => each.value !== undefined && each.takesFile === file)),
      ),
    ]
      .map(({ flag }) => flag)
      .filter((flag, index, all) => all.indexOf(flag) === index)
      .join('|')
  return `# holdfast completion bash: put  source <(holdfast completion bash)  into ~/.bashrc
_holdfast() {
  local cur=\${COMP_WORDS[COMP_CWORD]} prev=\${COMP_WORDS[COMP_CWORD-1]} words='' files=0
  COMPREPLY=()
  if ((COMP_CWORD == 1)); then
    COMPREPLY=($(compgen -W '${commands.map(({ name }) => name).join(' ')} help --help --version' -- "$cur"))
    return
  fi
  case $prev in
    ${valued(true)}) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    ${valued(false)}) return ;;
  esac
  case \${COMP_WORDS[1]} in
${cases.join('')}  esac
  if [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$cur"))
  elif ((files)); then
    COMPREPLY=($(compgen -f -- "$cur"))
  fi
}
complete -o filenames -F _holdfast holdfast
`
}

export function zshScript(commands: readonly CompletedCommand[]): string {
  const described = commands.map(({ name, summary }) => `    ${quoted(`${name}:${summary}`)}\n`).join('')
  const cases = commands.map(({ name, flags, takesFile }) => {
    const words = [...flags.map(zshFlag), ...(takesFile ? [quoted('*:file:_files')] : [])]
    return `    ${name})\n      _arguments ${words.join(' \\\n        ')} ;;\n`
  })
  return `#compdef holdfast
# holdfast completion zsh: put  source <(holdfast completion zsh)  into ~/.zshrc, below compinit
_holdfast() {
  local -a commands
  commands=(
${described}  )
  if ((CURRENT == 2)); then
    _describe command commands
    return
  fi
  shift words
  ((CURRENT--))
  case $words[1] in
${cases.join('')}  esac
}
compdef _holdfast holdfast
`
}

function zshFlag({ flag, help, value, takesFile }: CompletedFlag): string {
  const escapedHelp = help.replace(/[[\]\\:]/g, (character) => `\\${character}`)
  return quoted(
    `${flag}[${escapedHelp}]${value === undefined ? '' : `:${value.toLowerCase()}:${takesFile ? '_files' : ''}`}`,
  )
}

export function fishScript(commands: readonly CompletedCommand[]): string {
  const lines = commands.flatMap(({ name, summary, flags, takesFile }) => {
    const here = `complete -c holdfast -n '__fish_seen_subcommand_from ${name}'`
    return [
      `complete -c holdfast -n __fish_use_subcommand -a ${name} -d ${fishText(summary)}`,
      ...(takesFile ? [`${here} -F`] : []),
      ...flags.map(({ flag, help, value, takesFile: file }) => {
        const needs = value === undefined ? '' : file ? ' -r -F' : ' -x'
        return `${here} -l ${flag.slice(2)}${needs} -d ${fishText(help)}`
      }),
    ]
  })
  return `# holdfast completion fish: put  holdfast completion fish | source  into ~/.config/fish/config.fish
complete -c holdfast -f
${lines.join('\n')}
`
}

function fishText(text: string): string {
  return quoted(text.replaceAll('\\', '\\\\'), `\\'`)
}
