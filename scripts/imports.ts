/** Parses a module's imports and exported names. */
import { type Token, tokenize } from './tokens.ts'

export interface ImportedModule {
  readonly specifier: string
  /** `type`: erased at run time. `file`: `new URL('./x', import.meta.url)`, used to start workers. */
  readonly kind: 'value' | 'type' | 'dynamic' | 'file'
}

export function importsOf(source: string): ImportedModule[] {
  const tokens = tokenize(source)
  return tokens.flatMap((token, index): ImportedModule[] => {
    if (token.kind !== 'word' || isMember(tokens, index)) return []
    switch (token.text) {
      case 'import':
        return importAt(tokens, index)
      case 'export':
        return opensExportList(tokens, index) ? fromClause(tokens, index) : []
      case 'new':
        return fileAt(tokens, index)
      default:
        return []
    }
  })
}

/** Exported names, with a `type ` prefix for types; `*` for re-exports without names. */
export function exportsOf(source: string): string[] {
  const tokens = tokenize(source)
  const names = tokens.flatMap((token, index) => {
    if (token.text !== 'export' || token.kind !== 'word' || isMember(tokens, index)) return []
    return opensExportList(tokens, index) ? listedNames(tokens, index) : [declaredName(tokens, index)]
  })
  return [...new Set(names)].toSorted()
}

function isMember(tokens: readonly Token[], index: number): boolean {
  const before = tokens[index - 1]?.text
  const after = tokens[index + 1]?.text
  return (before === '.' && tokens[index - 2]?.text !== '.') || after === ':' || after === '.'
}

function importAt(tokens: readonly Token[], index: number): ImportedModule[] {
  const next = tokens[index + 1]
  if (next?.kind === 'string') return [{ specifier: next.text, kind: 'value' }]
  if (next?.text !== '(') return fromClause(tokens, index)
  const [argument, ...others] = insideParentheses(tokens, index + 1)
  const isLiteral = argument?.kind === 'string' && (others.length === 0 || others[0]?.text === ',')
  return isLiteral ? [{ specifier: argument.text, kind: 'dynamic' }] : []
}

/** `import type { A } from './x'` is erased; `import { type A } from './x'` still loads the module. */
function fromClause(tokens: readonly Token[], index: number): ImportedModule[] {
  const from = tokens.findIndex((token, at) => at > index && token.text === 'from' && tokens[at + 1]?.kind === 'string')
  if (from < 0 || tokens.slice(index + 1, from).some(endsClause)) return []
  const kind = isTypeOnly(tokens, index) ? 'type' : 'value'
  return [{ specifier: tokens[from + 1]!.text, kind }]
}

function endsClause(token: Token): boolean {
  return token.kind === 'string' || (token.kind === 'mark' && !/^[{},*]$/.test(token.text))
}

function isTypeOnly(tokens: readonly Token[], index: number): boolean {
  const after = tokens[index + 2]?.text
  return tokens[index + 1]?.text === 'type' && after !== 'from' && after !== ','
}

/** Every relative string in the argument of `new URL(…, import.meta.url)`, to cover both branches of a condition. */
function fileAt(tokens: readonly Token[], index: number): ImportedModule[] {
  if (tokens[index + 1]?.text !== 'URL' || tokens[index + 2]?.text !== '(') return []
  const argument = insideParentheses(tokens, index + 2)
  if (!argument.some((token, at) => token.text === 'import' && argument[at + 2]?.text === 'meta')) return []
  return argument
    .filter((token) => token.kind === 'string' && /^\.{1,2}\//.test(token.text))
    .map((token) => ({ specifier: token.text, kind: 'file' }))
}

function insideParentheses(tokens: readonly Token[], open: number): readonly Token[] {
  let depth = 0
  for (let at = open; at < tokens.length; at++) {
    const { kind, text } = tokens[at]!
    if (kind === 'mark' && text === '(') depth++
    if (kind === 'mark' && text === ')') depth--
    if (depth === 0) return tokens.slice(open + 1, at)
  }
  return []
}

function opensExportList(tokens: readonly Token[], index: number): boolean {
  const first = tokens[index + 1]?.text
  const second = tokens[index + 2]?.text
  return first === '{' || first === '*' || (first === 'type' && (second === '{' || second === '*'))
}

function listedNames(tokens: readonly Token[], index: number): string[] {
  const typeOnly = tokens[index + 1]?.text === 'type'
  const open = index + (typeOnly ? 2 : 1)
  const prefix = typeOnly ? 'type ' : ''
  if (tokens[open]?.text === '*') return [prefix + (tokens[open + 1]?.text === 'as' ? tokens[open + 2]!.text : '*')]
  const close = tokens.findIndex((token, at) => at > open && token.text === '}')
  return splitAtCommas(tokens.slice(open + 1, close)).map((words) => {
    const own = words.length > 1 && words[0] === 'type' && words[1] !== 'as' ? 'type ' : ''
    return (prefix || own) + words.at(-1)!
  })
}

function splitAtCommas(tokens: readonly Token[]): string[][] {
  const groups: string[][] = [[]]
  for (const token of tokens) {
    if (token.text === ',') groups.push([])
    else groups.at(-1)!.push(token.text)
  }
  return groups.filter((group) => group.length > 0)
}

const MODIFIERS = new Set(['declare', 'async', 'abstract', 'function', 'class', 'const', 'let', 'var', '*'])

function declaredName(tokens: readonly Token[], index: number): string {
  let at = index + 1
  if (tokens[at]?.text === 'default') return 'default'
  if (tokens[at]?.text === 'interface' || tokens[at]?.text === 'type') return `type ${tokens[at + 1]!.text}`
  while (MODIFIERS.has(tokens[at]?.text ?? '')) at++
  return tokens[at]!.text
}
