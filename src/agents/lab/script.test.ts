import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { HoldfastError } from '../../core/model/errors.ts'
import { checkScript, parseScript } from './script.ts'
import {
  type ArgumentRule,
  isStatementName,
  rulesOf,
  SCRIPT_CHARS_MAX,
  type Statement,
  statementTable,
} from './statements.ts'
import { anyCharacter } from '../../testing/any-character.ts'

describe('lab: a valid script', () => {
  test.for<[string, Statement[]]>([
    ['', []],
    [' ; ;\n; ', []],
    ['text 3', [{ type: 'text', count: 3 }]],
    ['  text\t3   every\n20 ;', [{ type: 'text', count: 3, everyMs: 20 }]],
    ['reason 0 every 0', [{ type: 'reason', count: 0, everyMs: 0 }]],
    [
      'text 1;text 2',
      [
        { type: 'text', count: 1 },
        { type: 'text', count: 2 },
      ],
    ],
    ['text 007', [{ type: 'text', count: 7 }]],
    ['tool search', [{ type: 'tool', name: 'search' }]],
    ['tool search fail', [{ type: 'tool', name: 'search', fail: true }]],
    ['tool search 50', [{ type: 'tool', name: 'search', ms: 50 }]],
    ['tool fail fail idempotent 5', [{ type: 'tool', name: 'fail', fail: true, idempotent: true, ms: 5 }]],
    ['tool "a \\"b\\"; \\\\c" 5', [{ type: 'tool', name: 'a "b"; \\c', ms: 5 }]],
    ['step 5 5', [{ type: 'step', name: '5', ms: 5 }]],
    ['throw it is all over ; hang', [{ type: 'throw', message: 'it is all over' }, { type: 'hang' }]],
    ['throw "a; b" ; hang', [{ type: 'throw', message: 'a; b' }, { type: 'hang' }]],
    ['throw ""', [{ type: 'throw', message: '' }]],
    ['ask who said "no"?', [{ type: 'ask', question: 'who said "no"?' }]],
    ['throw-string', [{ type: 'throw-string' }]],
    ['throw-string héllo 🌊', [{ type: 'throw-string', message: 'héllo 🌊' }]],
    ['artifact report.md 128', [{ type: 'artifact', name: 'report.md', kib: 128 }]],
    ['usage 10 20', [{ type: 'usage', inputTokens: 10, outputTokens: 20 }]],
    ['complete', [{ type: 'complete' }]],
    ['die; die 2', [{ type: 'die' }, { type: 'die', attempts: 2 }]],
    [
      'text 1000000; big 65536; sleep 86400000',
      [
        { type: 'text', count: 1_000_000 },
        { type: 'big', kib: 65_536 },
        { type: 'sleep', ms: 86_400_000 },
      ],
    ],
  ])('%j', ([script, statements]) => {
    expect(parseScript(script)).toEqual(statements)
  })

  test('is in the log as the original input', () => {
    expect(checkScript('  text 3 ; ')).toBe('  text 3 ; ')
  })
})

describe('lab: an invalid script is rejected with the position of the error', () => {
  test.for<[script: string, position: number, statement: string, stands: string, expected: string]>([
    ['txet 5', 0, 'txet 5', '"txet"', 'a statement (text, '],
    ['text 5; Text 5', 8, 'Text 5', '"Text"', 'a statement ('],
    ['toString', 0, 'toString', '"toString"', 'a statement ('],
    ['text', 4, 'text', 'the end of the script', 'N (a whole number up to 1,000,000)'],
    ['text ; hang', 5, 'text', '";"', 'N ('],
    ['hang;  text five every 3', 12, 'text five every 3', '"five"', 'N ('],
    ['text -1', 5, 'text -1', '"-1"', 'N ('],
    ['text 1.5', 5, 'text 1.5', '"1.5"', 'N ('],
    ['text 1e3', 5, 'text 1e3', '"1e3"', 'N ('],
    ['text 1000001', 5, 'text 1000001', '"1000001"', 'N ('],
    [`text ${'9'.repeat(400)}`, 5, `text ${'9'.repeat(75)}`, `"${'9'.repeat(80)}"`, 'N ('],
    [
      'text 5 evry 3',
      7,
      'text 5 evry 3',
      '"evry"',
      'every MS (a whole number up to 86,400,000) or the end of the statement, found',
    ],
    [
      'text 5 every',
      12,
      'text 5 every',
      'the end of the script',
      'expected MS (a whole number up to 86,400,000), found',
    ],
    ['text 5 every soon', 13, 'text 5 every soon', '"soon"', 'expected MS ('],
    ['text 5 every 3 4', 15, 'text 5 every 3 4', '"4"', 'expected the end of the statement, found'],
    ['big 65537', 4, 'big 65537', '"65537"', 'KB (a whole number up to 65,536)'],
    ['sleep 86400001', 6, 'sleep 86400001', '"86400001"', 'MS ('],
    ['tool', 4, 'tool', 'the end of the script', 'NAME (up to 256 characters)'],
    ['tool search 5 fail', 14, 'tool search 5 fail', '"fail"', 'expected the end of the statement, found'],
    ['tool search fial', 12, 'tool search fial', '"fial"', 'expected fail or idempotent or MS ('],
    ['tool search 5ms', 12, 'tool search 5ms', '"5ms"', 'expected MS ('],
    [`tool ${'n'.repeat(257)}`, 5, `tool ${'n'.repeat(75)}`, '"nnn', 'NAME (up to 256 characters)'],
    ['step "" 5', 5, 'step "" 5', '"\\"\\""', 'NAME ('],
    ['step "a"5', 8, 'step "a"5', '"5"', 'a blank or the end of the statement'],
    ['throw ; hang', 6, 'throw', '";"', 'expected MESSAGE, found'],
    ['throw "a; b', 11, 'throw "a; b', 'the end of the script', 'a closing "'],
    ['throw "a" b', 10, 'throw "a" b', '"b"', 'the end of the statement'],
    ['throw "a\\nb"', 8, 'throw "a\\nb"', '"\\\\nb\\""', 'a quote or a backslash'],
    ['throw "a\\', 8, 'throw "a\\', '"\\\\"', 'a quote or a backslash'],
    ['hang now', 5, 'hang now', '"now"', 'the end of the statement'],
    ['a\u0000\nb', 0, 'a\u0000\nb', '"a\\u0000"', 'a statement ('],
    [`${'hang;'.repeat(1000)} hang`, 5001, 'hang', '"hang"', 'the end of a script of at most 1,000 statements'],
    [' '.repeat(SCRIPT_CHARS_MAX + 1), SCRIPT_CHARS_MAX, '', '" "', 'a script of at most 65,536 characters'],
  ])('%j', ([script, position, statement, stands, expected]) => {
    const refusal = refusalOf(() => parseScript(script))
    expect(refusal.code).toBe('invalid_request')
    expect(refusal.details).toEqual({ position, statement })
    expect(refusal.message).toContain(`character ${position}: expected `)
    expect(refusal.message).toContain(expected)
    expect(refusal.message).toContain(`, found ${stands}`)
  })

  test.for([undefined, null, 7, ['text 5'], { script: 'text 5' }])(
    'lab: an input that is not a string is rejected: %j',
    (input) => {
      const refusal = refusalOf(() => checkScript(input))
      expect(refusal.code).toBe('invalid_request')
      expect(refusal.message).toContain('a lab script is a string')
    },
  )
})

test('lab: statements that are printed and parsed are unchanged', () => {
  fc.assert(
    fc.property(fc.array(anyStatement(), { maxLength: 20 }), blanks(), (script, blank) => {
      const printed = script.map((statement) => print(statement, blank)).join(`${blank};${blank}`)
      expect(parseScript(printed)).toEqual(script)
    }),
  )
})

test('lab: any text is parsed, or rejected with a position inside it', () => {
  const pieces = fc.constantFrom(
    ...Object.keys(statementTable),
    ';',
    '"',
    '\\',
    ' ',
    '\n',
    '5',
    'every',
    'fail',
    'x',
    '🌊',
  )
  fc.assert(
    fc.property(
      fc.oneof(
        fc.string({ unit: anyCharacter }),
        fc.array(pieces).map((list) => list.join(' ')),
      ),
      (script) => {
        const position = positionOfRefusal(script)
        expect(position).toSatisfy((at: number) => at >= 0 && at <= script.length)
      },
    ),
  )
})

/** Position at which a script is rejected; its length if it is valid. */
function positionOfRefusal(script: string): unknown {
  try {
    parseScript(script)
    return script.length
  } catch (thrown) {
    return thrown instanceof HoldfastError ? thrown.details?.['position'] : thrown
  }
}

function refusalOf(act: () => unknown): HoldfastError {
  try {
    act()
  } catch (thrown) {
    if (thrown instanceof HoldfastError) return thrown
    throw thrown
  }
  throw new Error('it was not refused')
}

function blanks(): fc.Arbitrary<string> {
  return fc.string({ unit: fc.constantFrom(' ', '\t', '\n', '\r'), minLength: 1, maxLength: 3 })
}

/** Any statement of the table, with any arguments that it takes. */
function anyStatement(): fc.Arbitrary<Statement> {
  const names = Object.keys(statementTable).filter(isStatementName)
  return fc.oneof(
    ...names.map((type) => {
      const rules = rulesOf(type)
      const fields = Object.fromEntries(rules.map((rule) => [rule.field, anyValue(rule)]))
      const requiredKeys = rules.filter(isRequired).map((rule) => rule.field)
      return fc
        .record(fields, { requiredKeys, noNullPrototype: true })
        .map((given) => ({ type, ...given }) as unknown as Statement)
    }),
  )
}

function isRequired(rule: ArgumentRule): boolean {
  return !('optional' in rule && rule.optional)
}

function anyValue(rule: ArgumentRule): fc.Arbitrary<unknown> {
  switch (rule.form) {
    case 'number':
      return fc.nat(rule.max)
    case 'flag':
      return fc.constant(true)
    case 'name':
      return fc.string({ unit: anyCharacter, minLength: 1, maxLength: 20 })
    default:
      return fc.string({ unit: anyCharacter })
  }
}

/** Text that needs no quotes. */
const BARE = { name: /^[^\s;"][^\s;]*$/, text: /^[^\s;"]([^;]*[^\s;])?$/ } as const

function print(statement: Statement, blank: string): string {
  const given: Readonly<Record<string, string | number | true>> = { ...statement }
  const words = rulesOf(statement.type).flatMap((rule) => {
    const value = given[rule.field]
    if (value === undefined) return []
    if (rule.form === 'flag') return [rule.placeholder]
    if (rule.form === 'number') return rule.keyword === undefined ? [String(value)] : [rule.keyword, String(value)]
    const text = String(value)
    return [BARE[rule.form].test(text) ? text : `"${text.replace(/["\\]/g, '\\$&')}"`]
  })
  return [statement.type, ...words].join(blank)
}
