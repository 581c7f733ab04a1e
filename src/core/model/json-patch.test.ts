import { expect, test } from 'vitest'
import { applyPatch } from './json-patch.ts'

test.each([
  [{ a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
  [{ a: [1, 3] }, [{ op: 'add', path: '/a/1', value: 2 }], { a: [1, 2, 3] }],
  [{ a: [1] }, [{ op: 'add', path: '/a/-', value: 2 }], { a: [1, 2] }],
  [{ a: 1 }, [{ op: 'add', path: '', value: [] }], []],
  [{ a: { b: 1 } }, [{ op: 'replace', path: '/a/b', value: null }], { a: { b: null } }],
  [{ a: [1, 2] }, [{ op: 'replace', path: '/a/0', value: 9 }], { a: [9, 2] }],
  [{ a: [1, 2], b: 1 }, [{ op: 'remove', path: '/a/0' }], { a: [2], b: 1 }],
  [{ a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
  [{ a: { c: 1 } }, [{ op: 'move', from: '/a/c', path: '/b' }], { a: {}, b: 1 }],
  [{ a: { c: 1 } }, [{ op: 'copy', from: '/a', path: '/b' }], { a: { c: 1 }, b: { c: 1 } }],
  [
    { 'a/b': 1, '~': 2 },
    [
      { op: 'remove', path: '/a~1b' },
      { op: 'remove', path: '/~0' },
    ],
    {},
  ],
  [{ a: { b: 1 } }, [{ op: 'test', path: '/a', value: { b: 1 } }], { a: { b: 1 } }],
])('JSON Patch: %j with %j is %j', (document, patch, expected) => {
  const before = JSON.stringify(document)
  expect(applyPatch(document, patch)).toEqual({ document: expected })
  expect(JSON.stringify(document)).toBe(before)
})

test.each([
  [{ a: 1 }, [{ op: 'remove', path: '/b' }]],
  [{ a: 1 }, [{ op: 'replace', path: '/b', value: 1 }]],
  [{ a: [1] }, [{ op: 'add', path: '/a/2', value: 1 }]],
  [{ a: [1] }, [{ op: 'remove', path: '/a/01' }]],
  [{ a: 1 }, [{ op: 'add', path: '/a/b', value: 1 }]],
  [{ a: 1 }, [{ op: 'test', path: '/a', value: 2 }]],
  [{ a: 1 }, [{ op: 'remove', path: '/constructor' }]],
  [{ a: 1 }, [{ op: 'jump', path: '/a' }]],
  [{ a: 1 }, ['remove']],
])('JSON Patch: %j with %j cannot be applied', (document, patch) => {
  expect(applyPatch(document, patch)).toBeUndefined()
})

test('JSON Patch: a patch whose last operation fails changes nothing', () => {
  const document = { a: 1 }
  const patch = [
    { op: 'add', path: '/b', value: 2 },
    { op: 'remove', path: '/c' },
  ]
  expect(applyPatch(document, patch)).toBeUndefined()
  expect(document).toEqual({ a: 1 })
})
