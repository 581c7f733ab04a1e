/** Minimal TypeScript tokenizer that separates code from comments, strings and regular expressions. */

export interface Token {
  readonly kind: 'word' | 'string' | 'mark'
  /** A string's content, without its quotes. */
  readonly text: string
}

export function tokenize(source: string): Token[] {
  const tokens: Token[] = []
  // Brace depth inside each open `${`, to find the brace that returns to the template.
  const templates: number[] = []
  let position = 0

  while (position < source.length) {
    const lexeme = matchAt(SPACE, source, position)
    if (lexeme !== undefined) {
      position += lexeme.length
      continue
    }
    const char = source[position]!
    if (char === '}' && templates.at(-1) === 0) templates.pop()
    else if (char !== '`') {
      const token = tokenAt(source, position, tokens.at(-1))
      tokens.push(token.token)
      position += token.length
      if (templates.length > 0 && char === '{') templates[templates.length - 1]! += 1
      if (templates.length > 0 && char === '}') templates[templates.length - 1]! -= 1
      continue
    }
    // A template, from its first quote or the end of an expression.
    const piece = matchAt(TEMPLATE, source, position + 1) ?? ''
    tokens.push({ kind: 'string', text: piece })
    position += 1 + piece.length
    if (source.startsWith('${', position)) templates.push(0)
    position += source.startsWith('${', position) ? 2 : 1
  }
  return tokens
}

const SPACE = /(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)+/y
const WORD = /[\p{ID_Start}$_#@][\p{ID_Continue}$]*|\d[\w.]*/uy
const QUOTED = /'(?:[^'\\\n]|\\[^])*'|"(?:[^"\\\n]|\\[^])*"/y
const TEMPLATE = /(?:[^`\\$]|\\[^]|\$(?!\{))*/y
const PATTERN = /\/(?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\/[a-z]*/y

/** Words after which a slash starts a regular expression. */
const BEFORE_PATTERN = new Set([
  'return',
  'typeof',
  'case',
  'in',
  'of',
  'do',
  'else',
  'yield',
  'await',
  'void',
  'delete',
])

function tokenAt(source: string, position: number, before: Token | undefined): { token: Token; length: number } {
  const word = matchAt(WORD, source, position)
  if (word !== undefined) return { token: { kind: 'word', text: word }, length: word.length }
  const quoted = matchAt(QUOTED, source, position)
  if (quoted !== undefined) return { token: { kind: 'string', text: quoted.slice(1, -1) }, length: quoted.length }
  const pattern = source[position] === '/' && mayOpenPattern(before) ? matchAt(PATTERN, source, position) : undefined
  const text = pattern ?? source[position]!
  return { token: { kind: 'mark', text }, length: text.length }
}

function mayOpenPattern(before: Token | undefined): boolean {
  if (before === undefined) return true
  if (before.kind === 'mark') return !/^[)\]}]$/.test(before.text)
  return before.kind === 'word' && BEFORE_PATTERN.has(before.text)
}

function matchAt(pattern: RegExp, source: string, position: number): string | undefined {
  pattern.lastIndex = position
  return pattern.exec(source)?.[0]
}
