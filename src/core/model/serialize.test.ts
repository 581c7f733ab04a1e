import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { serialize, type SerializeBounds, UnserializableError } from './serialize.ts'
import { anyCharacter } from '../../testing/any-character.ts'

const wide: SerializeBounds = { maxDepth: 50, maxBytes: 1024 * 1024 }

function text(value: unknown, bounds: SerializeBounds = wide): string {
  return serialize(value, 'data', bounds)
}

function refusalOf(value: unknown, bounds: SerializeBounds = wide): UnserializableError {
  try {
    text(value, bounds)
  } catch (thrown) {
    if (thrown instanceof UnserializableError) return thrown
    throw thrown
  }
  throw new Error('it was not refused')
}

class Point {
  readonly x: number
  readonly #hidden = 'private'
  y: unknown

  constructor(x: number, y: unknown) {
    this.x = x
    this.y = y
  }

  get shown(): string {
    return this.#hidden
  }
}

class Money {
  readonly cents: bigint

  constructor(cents: bigint) {
    this.cents = cents
  }

  toJSON(): unknown {
    return { cents: this.cents, at: new Date(0) }
  }
}

class Self {
  readonly when = new Date(0)

  toJSON(): unknown {
    return this
  }
}

const floats = new Float32Array([1, 2])
const parent = JSON.parse('{"__proto__": {"polluted": 1}, "n": null}') as Record<string, unknown>

describe('[EVT-1] serialize: values without a JSON form are encoded:', () => {
  test.each<[string, unknown, string]>([
    ['a date', new Date('2026-01-02T03:04:05.678Z'), '"2026-01-02T03:04:05.678Z"'],
    ['an invalid date', new Date(Number.NaN), '"Invalid Date"'],
    ['a URL', new URL('https://example.com/a b?c=ü'), '"https://example.com/a%20b?c=%C3%BC"'],
    [
      'a map with string keys',
      new Map<string, unknown>([
        ['a', 1],
        ['b', new Date(0)],
      ]),
      '{"a":1,"b":"1970-01-01T00:00:00.000Z"}',
    ],
    [
      'a map with other keys',
      new Map<unknown, unknown>([
        [1, 'a'],
        ['b', 2n],
      ]),
      '[[1,"a"],["b","2"]]',
    ],
    ['a map with objects as keys', new Map([[{ id: 1 }, 'a']]), '[[{"id":1},"a"]]'],
    ['an empty map', new Map(), '{}'],
    ['a map with the key __proto__', new Map([['__proto__', { a: 1 }]]), '{"__proto__":{"a":1}}'],
    ['a set', new Set([1, 'a', new Set([2n])]), '[1,"a",["2"]]'],
    ['a BigInt', 123456789012345678901234567890n, '"123456789012345678901234567890"'],
    ['a negative BigInt', -1n, '"-1"'],
    ['a Uint8Array', new Uint8Array([0, 1, 254, 255]), '"AAH+/w=="'],
    ['a part of a buffer', new Uint8Array([9, 9, 1, 2, 9]).subarray(2, 4), '"AQI="'],
    ['a Float32Array, by its bytes', floats, `"${Buffer.from(floats.buffer).toString('base64')}"`],
    ['a BigInt64Array, by its bytes', new BigInt64Array([1n]), '"AQAAAAAAAAA="'],
    ['a Buffer', Buffer.from('hi'), '"aGk="'],
    ['a Buffer larger than one chunk', Buffer.alloc(100_000, 7), `"${Buffer.alloc(100_000, 7).toString('base64')}"`],
    ['an ArrayBuffer', new Uint8Array([104, 105]).buffer, '"aGk="'],
    ['a DataView', new DataView(new Uint8Array([0, 104, 105, 0]).buffer, 1, 2), '"aGk="'],
    ['an empty typed array', new Uint8Array(), '""'],
    ['an error', new RangeError('too far'), '{"name":"RangeError","message":"too far"}'],
    [
      'an error with a code',
      Object.assign(new Error('no file'), { code: 'ENOENT' }),
      '{"name":"Error","message":"no file","code":"ENOENT"}',
    ],
    [
      'an error with causes',
      new Error('a', { cause: new Error('b', { cause: { at: new Date(0) } }) }),
      '{"name":"Error","message":"a","cause":{"name":"Error","message":"b","cause":{"at":"1970-01-01T00:00:00.000Z"}}}',
    ],
    ['NaN', Number.NaN, '"NaN"'],
    ['Infinity', Infinity, '"Infinity"'],
    ['-Infinity', -Infinity, '"-Infinity"'],
    ['-0', -0, '0'],
    ['undefined', undefined, 'null'],
    ['undefined in an object', { a: undefined, b: 1, c: undefined }, '{"b":1}'],
    ['undefined in an array', [undefined, 1, undefined], '[null,1,null]'],
    ['undefined beside what is encoded', { a: undefined, b: 1n, c: undefined }, '{"b":"1"}'],
    ['undefined beside what is encoded, in an array', [undefined, 1n, undefined], '[null,"1",null]'],
    ['a hole in an array', Object.assign([], { 1: 'a', length: 3 }), '[null,"a",null]'],
    ['a class instance, by its own properties', new Point(1, 2n), '{"x":1,"y":"2"}'],
    [
      'a value with toJSON, whose answer is encoded too',
      new Money(5n),
      '{"cents":"5","at":"1970-01-01T00:00:00.000Z"}',
    ],
    ['a value whose toJSON answers with itself', new Self(), '{"when":"1970-01-01T00:00:00.000Z"}'],
    ['a toJSON that gives nothing', { a: { toJSON: () => undefined }, b: 1 }, '{"b":1}'],
    ['an object without a prototype', Object.assign(Object.create(null) as object, { a: 1, b: 2n }), '{"a":1,"b":"2"}'],
    ['a key __proto__', parent, '{"__proto__":{"polluted":1},"n":null}'],
    ['a key __proto__ beside what is encoded', { ['__proto__']: { a: 1 }, n: 1n }, '{"__proto__":{"a":1},"n":"1"}'],
    [
      'a getter, read once',
      {
        get a() {
          return { n: 1n }
        },
      },
      '{"a":{"n":"1"}}',
    ],
    ['symbols as keys, left out', { [Symbol('s')]: 1, a: 2 }, '{"a":2}'],
    ['a boxed string', Object('a'), '"a"'],
    ['a boxed BigInt', { n: Object(5n) as unknown }, '{"n":"5"}'],
    ['a boxed NaN', { n: Object(Number.NaN) as unknown }, '{"n":"NaN"}'],
  ])('%s', (_, value, expected) => expect(text(value)).toBe(expected))

  test('an object that occurs twice is written twice', () => {
    const shared = { a: [1n] }
    expect(text({ left: shared, right: [shared, shared] })).toBe(
      '{"left":{"a":["1"]},"right":[{"a":["1"]},{"a":["1"]}]}',
    )
  })

  test('no key of the value can reach a prototype', () => {
    const value = JSON.parse('{"__proto__": {"polluted": true}, "n": 1}') as Record<string, unknown>
    expect(JSON.parse(text({ ...value, ['__proto__']: value['__proto__'], big: 1n }))).toHaveProperty('big', '1')
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
  })

  test('a getter that returns different values is called once', () => {
    let requested = 0
    const value = {
      get count() {
        return ++requested
      },
      later: 1n,
    }
    expect(text(value)).toBe('{"count":1,"later":"1"}')
    expect(requested).toBe(1)
  })
})

/** A value of every kind that JSON would silently write as `{}`. */
const opaque: readonly (readonly [string, unknown])[] = [
  ['a promise', Promise.resolve(1)],
  ['a WeakMap', new WeakMap()],
  ['a WeakSet', new WeakSet()],
  ['a WeakRef', new WeakRef({})],
  ['a regular expression', /a/],
  ['a generator that was not run', (async function* () {})()],
  ['an iterator', [1].values()],
  ['a stream', new ReadableStream()],
  ['a response', new Response('text')],
  ['shared memory', new SharedArrayBuffer(8)],
]

describe('[EVT-1] serialize: an unserializable value is rejected with its path:', () => {
  test.each<[string, unknown, string, RegExp]>([
    ['a function', { onDone() {} }, 'data.onDone', /^is a function$/],
    ['a function in an array', { rows: [1, () => 1] }, 'data.rows[1]', /^is a function$/],
    ['a function at the root', () => 1, 'data', /^is a function$/],
    ['a class', { type: Point }, 'data.type', /^is a function$/],
    ['a symbol', { 'a key': Symbol('s') }, 'data["a key"]', /^is a symbol$/],
    ['a function in a map', new Map([['on', () => 1]]), 'data.on', /^is a function$/],
    ['a function in a map with other keys', new Map([[1, () => 1]]), 'data[0][1]', /^is a function$/],
    ['a function as the key of a map', new Map([[() => 1, 1]]), 'data[0][0]', /^is a function$/],
    ['a function in a set', { set: new Set([1, () => 1]) }, 'data.set[1]', /^is a function$/],
    ['a function in an error', new Error('a', { cause: () => 1 }), 'data.cause', /^is a function$/],
    ['a function given by toJSON', { a: { toJSON: () => ({ b: () => 1 }) } }, 'data.a.b', /^is a function$/],
    ['keys that need quotes', { 'a"b': { '': { 0: Symbol('s') } } }, 'data["a\\"b"][""]["0"]', /^is a symbol$/],
    [
      'a getter that throws',
      {
        a: [
          {
            get b() {
              throw new Error('no')
            },
          },
        ],
      },
      'data.a[0].b',
      /^has a getter that throws$/,
    ],
    [
      'a toJSON that throws',
      {
        a: {
          toJSON() {
            throw new Error('no')
          },
        },
      },
      'data.a',
      /^has a toJSON method that throws$/,
    ],
    [
      'a getter of an error that throws',
      {
        e: Object.defineProperty(new Error('a'), 'code', {
          get() {
            throw new Error('no')
          },
        }),
      },
      'data.e.code',
      /^has a getter that throws$/,
    ],
    ['a proxy that is revoked', { a: revoked() }, 'data.a', /cannot be read|throws/],
    ['a proxy that throws when its keys are asked for', { a: [unreadable()] }, 'data.a[0]', /cannot be read|throws/],
  ])('%s', (_, value, path, problem) => {
    const refusal = refusalOf(value)
    expect(refusal.path).toBe(path)
    expect(refusal.problem).toMatch(problem)
    expect(refusal.message).toBe(`${path} ${refusal.problem}`)
  })

  test.each(opaque)('%s', (_, value) => {
    const refusal = refusalOf({ output: [value] })
    expect(refusal.path).toBe('data.output[0]')
    expect(refusal.problem).toMatch(/^is an? /)
  })

  test('the error of a getter is the cause', () => {
    const cause = new Error('no')
    const value = {
      get a() {
        throw cause
      },
    }
    expect(refusalOf(value).cause).toBe(cause)
  })

  test('a cycle is rejected, wherever it closes', () => {
    const object: Record<string, unknown> = { a: {} }
    object['a'] = { b: [object] }
    const list: unknown[] = []
    list.push(list)
    const map = new Map<string, unknown>()
    map.set('self', map)
    const set = new Set<unknown>()
    set.add(set)
    const error = new Error('a')
    error.cause = error
    const cycle = 'refers to an object that contains it (a cycle)'
    expect(refusalOf(object)).toMatchObject({ path: 'data.a.b[0]', problem: cycle })
    expect(refusalOf({ list })).toMatchObject({ path: 'data.list[0]', problem: cycle })
    expect(refusalOf(map)).toMatchObject({ path: 'data.self', problem: cycle })
    expect(refusalOf(set)).toMatchObject({ path: 'data[0]', problem: cycle })
    expect(refusalOf(error)).toMatchObject({ path: 'data.cause', problem: cycle })
  })

  test('a value that is nested too deep is rejected', () => {
    const bounds = { ...wide, maxDepth: 3 }
    expect(text({ a: { b: {} } }, bounds)).toBe('{"a":{"b":{}}}')
    expect(text({ a: { b: [1n] } }, bounds)).toBe('{"a":{"b":["1"]}}')
    const refusal = refusalOf({ a: { b: [{}] } }, bounds)
    expect(refusal).toMatchObject({ path: 'data.a.b[0]', problem: 'is nested more than 3 levels deep' })
  })

  test('a value that creates objects without end when read is rejected', () => {
    class Endless {
      get next(): Endless {
        return new Endless()
      }
      toJSON(): unknown {
        return { next: this.next }
      }
    }
    expect(refusalOf({ a: new Endless() }, { ...wide, maxDepth: 10 }).problem).toBe(
      'is nested more than 10 levels deep',
    )
  })

  test('a text with more bytes than allowed is rejected, although it has fewer characters', () => {
    expect(text('éé', { ...wide, maxBytes: 6 })).toBe('"éé"')
    const refusal = refusalOf('ééé', { ...wide, maxBytes: 7 })
    expect(refusal).toMatchObject({ path: 'data', problem: 'is 8 bytes long; the limit is 7' })
    expect(refusalOf(['😀'], { ...wide, maxBytes: 7 }).problem).toBe('is 8 bytes long; the limit is 7')
    expect(refusalOf('a'.repeat(8), { ...wide, maxBytes: 9 }).problem).toBe('is 10 bytes long; the limit is 9')
  })

  test('a value that is far too large is rejected without walking it to its end', () => {
    let read = 0
    let value: unknown = {
      get leaf() {
        read += 1
        return 0
      },
    }
    for (let level = 0; level < 16; level++) value = [value, value]
    refusalOf(value, { ...wide, maxBytes: 1000 })
    expect(read).toBeLessThanOrEqual(1000)
  })
})

/** Every kind of value of fast-check, from dates to sparse arrays. */
const anything = fc.anything({
  withBigInt: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  stringUnit: anyCharacter,
})

describe('[EVT-1] serialize: for any value', () => {
  test('plain JSON is written as JSON.stringify does', () => {
    fc.assert(
      fc.property(fc.jsonValue({ stringUnit: anyCharacter }), (value) => {
        expect(text(value)).toBe(JSON.stringify(value))
      }),
    )
  })

  test('the text is JSON on one line', () => {
    const lines = fc.string({ unit: fc.constantFrom('\n', '\r', '\u2028', '\u2029', 'a', '"', '\\', '\ud800', '😀') })
    fc.assert(
      fc.property(fc.oneof(anything, fc.object({ key: lines, values: [lines] })), (value) => {
        const written = text(value)
        expect(written).not.toMatch(/[\r\n]/)
        expect(() => JSON.parse(written) as unknown).not.toThrow()
      }),
    )
  })

  test('the text is stable after a round trip', () => {
    fc.assert(
      fc.property(anything, (value) => {
        const written = text(value)
        expect(text(JSON.parse(written))).toBe(written)
      }),
    )
  })

  test('the value is not mutated', () => {
    fc.assert(
      fc.property(anything, (value) => {
        const before = fc.stringify(value)
        text(deepFreeze(value))
        expect(fc.stringify(value)).toBe(before)
      }),
    )
  })
})

function deepFreeze(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return value
  for (const item of Object.values(value)) deepFreeze(item)
  return Object.freeze(value)
}

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {})
  revoke()
  return proxy
}

function unreadable(): unknown {
  return new Proxy(
    {},
    {
      ownKeys: () => {
        throw new Error('no')
      },
    },
  )
}
