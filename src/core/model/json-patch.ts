/** JSON Patch (RFC 6902). Values are never changed in place: states of views share them. */
import { isObject } from './is-object.ts'

export interface PatchOperation {
  readonly op: string
  readonly path: string
  readonly from?: string
  readonly value?: unknown
}

/** Returns undefined if an operation cannot be applied: the whole patch is then refused. */
export function applyPatch(document: unknown, patch: readonly unknown[]): { readonly document: unknown } | undefined {
  let at: Found = { value: document }
  for (const operation of patch) {
    const next: Found | undefined = isOperation(operation) ? applyOperation(at.value, operation) : undefined
    if (next === undefined) return undefined
    at = next
  }
  return { document: at.value }
}

/** Wraps the value, because it may be undefined. */
interface Found {
  readonly value: unknown
}

function isOperation(value: unknown): value is PatchOperation {
  const { op, path } = (value ?? {}) as Partial<PatchOperation>
  return typeof op === 'string' && typeof path === 'string'
}

function applyOperation(document: unknown, { op, path, from = '', value = null }: PatchOperation): Found | undefined {
  const to = segmentsOf(path)
  switch (op) {
    case 'add':
      return change(document, to, () => ({ value }))
    case 'replace':
      return find(document, to) === undefined ? undefined : change(document, to, () => ({ value }), true)
    case 'remove':
      return remove(document, to)
    case 'test': {
      const found = find(document, to)
      return found !== undefined && JSON.stringify(found.value) === JSON.stringify(value)
        ? { value: document }
        : undefined
    }
    case 'copy':
    case 'move': {
      const found = find(document, segmentsOf(from))
      const left = op === 'move' ? remove(document, segmentsOf(from)) : { value: document }
      return found === undefined || left === undefined ? undefined : change(left.value, to, () => found)
    }
    default:
      return undefined
  }
}

function segmentsOf(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((segment) => segment.replaceAll('~1', '/').replaceAll('~0', '~'))
}

function find(document: unknown, segments: readonly string[]): Found | undefined {
  let value = document
  for (const segment of segments) {
    if (Array.isArray(value)) {
      const index = indexOf(segment, value.length - 1)
      if (index === undefined) return undefined
      value = value[index]
    } else if (isObject(value) && Object.hasOwn(value, segment)) value = value[segment]
    else return undefined
  }
  return { value }
}

/** Copies the document with the value at a path. In an array, inserts before the element at the path, unless it replaces it. */
function change(
  document: unknown,
  [segment, ...rest]: readonly string[],
  make: () => Found,
  isReplaced = false,
): Found | undefined {
  if (segment === undefined) return make()
  const child = rest.length === 0 ? make() : descend(document, segment, rest, make, isReplaced)
  if (child === undefined) return undefined
  if (Array.isArray(document)) {
    const isInserted = rest.length === 0 && !isReplaced
    const index = indexOf(segment, document.length - (isInserted ? 0 : 1), isInserted ? document.length : undefined)
    return index === undefined ? undefined : { value: document.toSpliced(index, isInserted ? 0 : 1, child.value) }
  }
  return isObject(document) ? { value: { ...document, [segment]: child.value } } : undefined
}

function descend(
  document: unknown,
  segment: string,
  rest: readonly string[],
  make: () => Found,
  isReplaced: boolean,
): Found | undefined {
  const found = find(document, [segment])
  return found === undefined ? undefined : change(found.value, rest, make, isReplaced)
}

function remove(document: unknown, segments: readonly string[]): Found | undefined {
  const last = segments.at(-1)
  const parent = find(document, segments.slice(0, -1))
  if (last === undefined || parent === undefined || find(parent.value, [last]) === undefined) return undefined
  const left = Array.isArray(parent.value)
    ? parent.value.toSpliced(Number(last), 1)
    : Object.fromEntries(Object.entries(parent.value as object).filter(([name]) => name !== last))
  return segments.length === 1
    ? { value: left }
    : change(document, segments.slice(0, -1), () => ({ value: left }), true)
}

/** `-` is the end of an array, if `end` is given. */
function indexOf(segment: string, last: number, end?: number): number | undefined {
  if (segment === '-') return end
  const index = /^(?:0|[1-9]\d{0,8})$/.test(segment) ? Number(segment) : Infinity
  return index <= last ? index : undefined
}
