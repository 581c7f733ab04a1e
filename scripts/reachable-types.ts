/**
 * Walks declarations (`.d.ts`, as tsc writes them) from the package's entry points: finds types that nobody can import, and exports
 * without a doc comment.
 */
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { type Token, tokenize } from './tokens.ts'

/** A declared name, as `file#name`. */
type Declared = string

interface Module {
  /** Meaning of names in this file: its own declarations and its imports. */
  readonly names: ReadonlyMap<string, Declared>
  /** What it exports, by name. Re-exports lead to where the name is exported. */
  readonly exports: ReadonlyMap<string, Declared>
  /** Names that it exports as types only: a class among them cannot be constructed. */
  readonly typeOnly: ReadonlySet<string>
  /** Tokens of its own declarations, by name; only those of types are followed. */
  readonly declarations: ReadonlyMap<string, Declaration>
}

interface Declaration {
  readonly kind: string
  readonly isType: boolean
  /** A doc comment is right above it, or above one of its overloads: what editors show. */
  readonly isDocumented: boolean
  readonly tokens: readonly Token[]
}

export interface Unimportable {
  /** The type, as `file#name`. */
  readonly type: Declared
  /** An exported declaration, or one that it leads to, whose signature names the type. */
  readonly usedBy: Declared
}

/** `entries`: the declaration files of the entry points. */
export function unimportableTypes(entries: readonly string[]): readonly Unimportable[] {
  const modules = new Modules()
  const importable = new Set<Declared>()
  const values = new Set<Declared>()
  for (const { exports, typeOnly } of entries.map((entry) => modules.at(entry))) {
    for (const [name, exported] of exports) {
      importable.add(modules.origin(exported))
      if (!typeOnly.has(name)) values.add(modules.origin(exported))
    }
  }
  const missing = new Map<Declared, Declared>()
  const seen = new Set(importable)
  // Grows while it is walked.
  for (const user of seen) {
    for (const type of modules.typesIn(user, values.has(user))) {
      if (!importable.has(type) && !missing.has(type)) missing.set(type, user)
      seen.add(type)
    }
  }
  return [...missing]
    .map(([type, usedBy]) => ({ type, usedBy }))
    .toSorted((one, other) => (one.type < other.type ? -1 : 1))
}

/** Exported functions, classes and interfaces that editors show no text for, as `file#name`. */
export function undocumentedExports(entries: readonly string[]): readonly Declared[] {
  const modules = new Modules()
  const origins = entries.flatMap((entry) =>
    [...modules.at(entry).exports.values()].map((name) => modules.origin(name)),
  )
  return [...new Set(origins)].filter((name) => modules.lacksDoc(name)).toSorted()
}

const DOCUMENTED_KINDS = new Set(['function', 'class', 'interface'])

class Modules {
  readonly #known = new Map<string, Module>()

  at(file: string): Module {
    let module = this.#known.get(file)
    if (module === undefined) this.#known.set(file, (module = parse(file)))
    return module
  }

  /** Where a name is declared, past re-exports and imports. */
  origin(name: Declared): Declared {
    const [file, local] = split(name)
    const { declarations, exports, names } = this.at(file)
    if (declarations.has(local)) return name
    const exported = exports.get(local)
    // `export { Name }` of something imported leads to itself.
    const next = exported === name ? names.get(local) : (exported ?? names.get(local))
    return next === undefined ? name : this.origin(next)
  }

  lacksDoc(name: Declared): boolean {
    const [file, local] = split(name)
    const declaration = this.at(file).declarations.get(local)
    return declaration !== undefined && DOCUMENTED_KINDS.has(declaration.kind) && !declaration.isDocumented
  }

  /** Types of this package that a declaration names. For a class that is not exported as a value, those of its instances. */
  *typesIn(user: Declared, isValue: boolean): Generator<Declared> {
    const [file, name] = split(user)
    const { declarations, names } = this.at(file)
    const { tokens = [] } = declarations.get(name) ?? {}
    const named = isValue ? tokens : instanceOnly(tokens)
    for (const [at, token] of named.entries()) {
      const found = inlineImport(file, named, at) ?? (named[at - 1]?.text === '.' ? undefined : names.get(token.text))
      if (token.kind !== 'word' || found === undefined) continue
      const type = this.origin(found)
      const [where, local] = split(type)
      if (type !== user && this.at(where).declarations.get(local)?.isType === true) yield type
    }
  }
}

/** A class without its constructor and its static members, which tsc ends with semicolons. */
function instanceOnly(tokens: readonly Token[]): readonly Token[] {
  const kept: Token[] = []
  let isSkipping = false
  let depth = 0
  for (const [at, token] of tokens.entries()) {
    const isMember = depth === 1 && [';', '{', '}'].includes(tokens[at - 1]?.text ?? '')
    if (isMember && (token.text === 'constructor' || token.text === 'static')) isSkipping = true
    if (OPENING.has(token.text) && token.kind === 'mark') depth++
    if (CLOSING.has(token.text) && token.kind === 'mark') depth--
    if (!isSkipping) kept.push(token)
    if (depth === 1 && token.text === ';') isSkipping = false
  }
  return kept
}

const OPENING = new Set(['{', '(', '['])
const CLOSING = new Set(['}', ')', ']'])

/** `import('./x.ts').Name` */
function inlineImport(file: string, tokens: readonly Token[], at: number): Declared | undefined {
  if (tokens[at]?.text !== 'import' || tokens[at + 1]?.text !== '(') return undefined
  const [path, name] = [tokens[at + 2], tokens[at + 5]]
  return path?.text.startsWith('.') && tokens[at + 4]?.text === '.'
    ? `${fileAt(file, path.text)}#${name!.text}`
    : undefined
}

function split(name: Declared): readonly [file: string, local: string] {
  const at = name.lastIndexOf('#')
  return [name.slice(0, at), name.slice(at + 1)]
}

function fileAt(from: string, specifier: string): string {
  return join(dirname(from), specifier.replace(/\.[jt]s$/, '.d.ts'))
}

/** A statement begins where a line does; tsc indents all that is inside one. */
function parse(file: string): Module {
  const names = new Map<string, Declared>()
  const exports = new Map<string, Declared>()
  const typeOnly = new Set<string>()
  const declarations = new Map<string, Declaration>()
  let before = ''
  for (const statement of readFileSync(file, 'utf8').split(/^(?=(?:export|declare|import|interface|type)\b)/m)) {
    const hasComment = before.trimEnd().endsWith('*/')
    before = statement
    const tokens = tokenize(statement)
    const from = tokens.at(-1)?.kind === 'string' ? tokens.at(-1)! : tokens.at(-2)
    const source = from?.kind === 'string' && from.text.startsWith('.') ? fileAt(file, from.text) : undefined
    const isList = tokens.slice(1, 3).some(({ text }) => text === '{')
    if (tokens[0]?.text === 'import') {
      if (source !== undefined) for (const [name, local] of listed(tokens)) names.set(local, `${source}#${name}`)
    } else if (tokens[0]?.text === 'export' && isList) {
      for (const [name, outer, isType] of listed(tokens)) {
        exports.set(outer, `${source ?? file}#${name}`)
        if (isType || tokens[1]!.text === 'type') typeOnly.add(outer)
      }
    } else declare(tokens, hasComment)
  }
  return { names, exports, typeOnly, declarations }

  function declare(tokens: readonly Token[], hasComment: boolean): void {
    const at = tokens.findIndex(({ text }) => !['export', 'declare', 'abstract', 'default', 'async'].includes(text))
    const [kind, name] = [tokens[at]?.text ?? '', tokens[at + 1]?.text]
    if (name === undefined || !KINDS.has(kind)) return
    const declared = `${file}#${name}`
    const overload = declarations.get(name)
    declarations.set(name, {
      kind,
      isType: kind !== 'function' && kind !== 'const',
      isDocumented: hasComment || overload?.isDocumented === true,
      tokens: [...(overload?.tokens ?? []), ...tokens.slice(at + 2)],
    })
    names.set(name, declared)
    if (tokens[0]!.text === 'export') exports.set(name, declared)
  }
}

const KINDS = new Set(['interface', 'type', 'class', 'enum', 'function', 'const'])

/** Pairs of a list in braces: `type A as B` is A and B. */
function listed(tokens: readonly Token[]): (readonly [name: string, local: string, isType: boolean])[] {
  const open = tokens.findIndex(({ text }) => text === '{')
  const close = tokens.findIndex(({ text }) => text === '}')
  const pairs: (readonly [string, string, boolean])[] = []
  let words: string[] = []
  for (const { text } of tokens.slice(open + 1, close).concat({ kind: 'mark', text: ',' })) {
    if (text !== ',') words.push(text)
    else {
      const isType = words.length > 1 && words[0] === 'type' && words[1] !== 'as'
      const name = isType ? words.slice(1) : words
      if (name.length > 0) pairs.push([name[0]!, name.at(-1)!, isType])
      words = []
    }
  }
  return pairs
}
