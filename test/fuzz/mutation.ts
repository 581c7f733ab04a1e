/** Mutations of a valid JSON value. Nearly valid input gets further into a server than random input. */
import fc from 'fast-check'
import { fieldName, json } from './values.ts'

export interface Mutation {
  /** Which node, counted from the root; the remainder is taken. */
  readonly at: number
  readonly does: 'replace' | 'remove' | 'add' | 'repeat'
  readonly name: string
  readonly value: unknown
}

export const mutations: fc.Arbitrary<readonly Mutation[]> = fc.array(
  fc.record({
    at: fc.nat(200),
    does: fc.constantFrom('replace', 'remove', 'add', 'repeat'),
    name: fieldName,
    value: json,
  }),
  { maxLength: 4 },
)

export function mutated(valid: unknown, changes: readonly Mutation[]): unknown {
  return changes.reduce(mutateOnce, structuredClone(valid))
}

type Parent = Record<string | number, unknown>

interface Place {
  readonly parent: Parent
  readonly key: string | number
}

function mutateOnce(root: unknown, { at, does, name, value: given }: Mutation): unknown {
  const value = structuredClone(given)
  const holder: Parent = { root }
  const places = placesIn(holder)
  const { parent, key } = places[at % places.length]!
  const node = parent[key]
  if (does === 'remove' && parent !== holder) remove(parent, key)
  else if (does === 'add' && Array.isArray(node)) node.push(value)
  else if (does === 'add' && isObject(node)) define(node, name, value)
  else if (does === 'repeat' && Array.isArray(node)) node.push(...structuredClone(node.slice(0, 100)))
  else define(parent, key, value)
  return holder['root']
}

function placesIn(parent: Parent): Place[] {
  return Object.keys(parent).flatMap((key) => {
    const node = parent[key]
    return [{ parent, key }, ...(isObject(node) ? placesIn(node) : [])]
  })
}

function remove(parent: Parent, key: string | number): void {
  if (Array.isArray(parent)) parent.splice(Number(key), 1)
  else delete parent[key]
}

/** An assignment to `__proto__` would change the prototype of the value. */
function define(parent: Parent, key: string | number, value: unknown): void {
  Object.defineProperty(parent, key, { value, enumerable: true, configurable: true, writable: true })
}

function isObject(value: unknown): value is Parent {
  return typeof value === 'object' && value !== null
}
