/** Parses a lab script into statements, or reports the character where it is invalid. */
import { HoldfastError } from '../../core/model/errors.ts'
import {
  type ArgumentRule,
  isStatementName,
  NAME_CHARS_MAX,
  rulesOf,
  SCRIPT_CHARS_MAX,
  SCRIPT_STATEMENTS_MAX,
  type Statement,
  statementTable,
  usageOfArgument,
} from './statements.ts'

/** Returns the input if it is a valid script. */
export function checkScript(input: unknown): string {
  if (typeof input !== 'string') {
    const actual = input === null ? 'null' : Array.isArray(input) ? 'an array' : `of type ${typeof input}`
    throw new HoldfastError(
      'invalid_request',
      `a lab script is a string such as "text 5; throw boom"; this input is ${actual}`,
    )
  }
  parseScript(input)
  return input
}

export function parseScript(script: string): readonly Statement[] {
  return new ScriptReader(script).script()
}

type Value = string | number | true

class ScriptReader {
  readonly #script: string
  #position = 0
  #statementStart = 0

  constructor(script: string) {
    this.#script = script
  }

  script(): readonly Statement[] {
    if (this.#script.length > SCRIPT_CHARS_MAX)
      this.#refuse(`a script of at most ${numberText(SCRIPT_CHARS_MAX)} characters`, SCRIPT_CHARS_MAX)
    const statements: Statement[] = []
    for (;;) {
      this.#skipBlanks()
      this.#statementStart = this.#position
      if (!this.#atEnd()) {
        if (statements.length === SCRIPT_STATEMENTS_MAX)
          this.#refuse(`the end of a script of at most ${numberText(SCRIPT_STATEMENTS_MAX)} statements`)
        statements.push(this.#statement())
      }
      if (this.#position === this.#script.length) return statements
      this.#position++ // the semicolon
    }
  }

  #statement(): Statement {
    const name = this.#word()
    if (!isStatementName(name)) this.#refuse(`a statement (${Object.keys(statementTable).join(', ')})`)
    this.#take(name)
    const fields: Record<string, Value> = {}
    let alsoPossible: string[] = []
    for (const rule of rulesOf(name)) {
      const value = this.#argument(rule)
      if (value === undefined) {
        alsoPossible.push(expectation(rule))
      } else {
        fields[rule.field] = value
        alsoPossible = []
      }
    }
    if (!this.#atEnd()) this.#refuse([...alsoPossible, 'the end of the statement'].join(' or '))
    return { type: name, ...fields } as Statement
  }

  /** The argument's value; undefined if an optional one is absent. */
  #argument(rule: ArgumentRule): Value | undefined {
    switch (rule.form) {
      case 'flag':
        return this.#takeIf(rule.placeholder) || undefined
      case 'number':
        if (rule.keyword !== undefined) return this.#takeIf(rule.keyword) ? this.#number(rule) : undefined
        return rule.optional && !/^\d/.test(this.#word()) ? undefined : this.#number(rule)
      case 'name':
        return this.#name(rule)
      default:
        return this.#text(rule)
    }
  }

  #text(rule: Extract<ArgumentRule, { form: 'text' }>): string | undefined {
    if (!this.#atEnd()) return this.#script[this.#position] === '"' ? this.#quoted() : this.#restOfStatement()
    return rule.optional ? undefined : this.#refuse(expectation(rule))
  }

  #number(rule: Extract<ArgumentRule, { form: 'number' }>): number {
    const word = this.#word()
    const value = /^\d+$/.test(word) ? Number(word) : Number.NaN
    if (!(value <= rule.max)) this.#refuse(`${rule.placeholder} ${range(rule)}`)
    this.#take(word)
    return value
  }

  #name(rule: ArgumentRule): string {
    const start = this.#position
    const word = this.#word()
    const name = word.startsWith('"') ? this.#quoted() : word
    if (name === '' || name.length > NAME_CHARS_MAX) this.#refuse(expectation(rule), start)
    if (!word.startsWith('"')) this.#take(word)
    return name
  }

  /** Text in double quotes, where `\"` and `\\` stand for a quote and a backslash. */
  #quoted(): string {
    let text = ''
    for (let at = this.#position + 1; at < this.#script.length; at++) {
      const character = this.#script[at]!
      if (character === '"') {
        this.#position = at + 1
        if (!/[\s;]|^$/.test(this.#script.charAt(this.#position))) this.#refuse('a blank or the end of the statement')
        this.#skipBlanks()
        return text
      }
      if (character !== '\\') {
        text += character
        continue
      }
      const escaped = this.#script.charAt(at + 1)
      if (escaped !== '"' && escaped !== '\\') this.#refuse('\\" or \\\\ (a quote or a backslash)', at)
      text += escaped
      at++
    }
    return this.#refuse('a closing "', this.#script.length)
  }

  #restOfStatement(): string {
    const semicolon = this.#script.indexOf(';', this.#position)
    const end = semicolon === -1 ? this.#script.length : semicolon
    const text = this.#script.slice(this.#position, end)
    this.#position = end
    return text.trimEnd()
  }

  /** The next word without consuming it; empty at the end of a statement. */
  #word(): string {
    WORD.lastIndex = this.#position
    return WORD.exec(this.#script)![0]
  }

  #take(word: string): true {
    this.#position += word.length
    this.#skipBlanks()
    return true
  }

  #takeIf(word: string): boolean {
    return this.#word() === word && this.#take(word)
  }

  #skipBlanks(): void {
    BLANKS.lastIndex = this.#position
    this.#position += BLANKS.exec(this.#script)![0].length
  }

  #atEnd(): boolean {
    return this.#position === this.#script.length || this.#script[this.#position] === ';'
  }

  #refuse(expected: string, position = this.#position): never {
    this.#position = position
    const here = this.#script[position]
    const stands = here === undefined ? 'the end of the script' : excerpt(here === ';' ? here : this.#word() || here)
    const end = this.#script.indexOf(';', Math.max(position, this.#statementStart))
    const statement = this.#script
      .slice(this.#statementStart, end === -1 ? undefined : end)
      .trim()
      .slice(0, EXCERPT_CHARS_MAX)
    throw new HoldfastError(
      'invalid_request',
      `lab script, character ${position}: expected ${expected}, found ${stands}`,
      {
        details: { position, statement },
      },
    )
  }
}

const WORD = /[^\s;]*/y
const BLANKS = /\s*/y
const EXCERPT_CHARS_MAX = 80

function excerpt(text: string): string {
  return JSON.stringify(text.slice(0, EXCERPT_CHARS_MAX))
}

function expectation(rule: ArgumentRule): string {
  const usage = usageOfArgument(rule).replace(/^\[|\]$/g, '')
  switch (rule.form) {
    case 'number':
      return `${usage} ${range(rule)}`
    case 'name':
      return `${usage} (up to ${numberText(NAME_CHARS_MAX)} characters)`
    default:
      return usage
  }
}

function range(rule: { readonly max: number }): string {
  return `(a whole number up to ${numberText(rule.max)})`
}

function numberText(value: number): string {
  return value.toLocaleString('en')
}
