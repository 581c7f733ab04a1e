import { expect, test } from 'vitest'
import type { Component, ComponentKind } from './ports/component.ts'
import { isHoldfastError } from './model/errors.ts'
import { Registry } from './registry.ts'

function component(id: string, kind: ComponentKind = 'agent'): Component {
  return { id, kind, async *run() {} }
}

test('registry: a component of any kind is found by its id', () => {
  const components = [component('writer'), component('crew', 'team'), component('pipeline', 'workflow')]
  const registry = new Registry(components)
  expect(registry.list()).toEqual(components)
  for (const each of components) {
    expect(registry.get(each.id)).toBe(each)
    expect(registry.find(each.id)).toBe(each)
  }
})

test('registry: an unknown component is not found', () => {
  const registry = new Registry([component('writer')])
  expect(registry.find('reader')).toBeUndefined()
  expect(registry.find('constructor')).toBeUndefined()
  expect(() => registry.get('reader')).toThrow('component "reader" not found')
  expect(
    isHoldfastError(
      thrownBy(() => registry.get('reader')),
      'not_found',
    ),
  ).toBe(true)
})

test('registry: two components cannot have the same id', () => {
  const twice = [component('writer'), component('writer', 'team')]
  expect(() => new Registry(twice)).toThrow('two components have the id writer')
})

test.each([['a'], ['A.b_c-9'], ['0'], ['x'.repeat(128)]])('registry: the id %s is valid', (id) => {
  expect(new Registry([component(id)]).get(id).id).toBe(id)
})

test.each([[''], ['.a'], ['-a'], ['a b'], ['a/b'], ['ä'], ['a\n'], ['__proto__'], ['x'.repeat(129)]])(
  'registry: the id %j is rejected',
  (id) => {
    expect(() => new Registry([component(id)])).toThrow(/must be 1 to 128 letters/)
  },
)

function thrownBy(act: () => unknown): unknown {
  try {
    act()
  } catch (thrown) {
    return thrown
  }
  throw new Error('nothing was thrown')
}
