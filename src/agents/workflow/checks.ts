/** Validates workflows when they are defined. */
import { anything, checkOptions as checkAll } from '../../core/model/check-options.ts'
import type { Component } from '../../core/ports/component.ts'
import { ATTEMPTS_MAX, DEPTH_MAX, REVIEW_ROUNDS_MAX, STEPS_MAX, TIMER_MAX_MS } from './bounds.ts'
import type { Node, StepNode, WorkflowStepOptions } from './definition.ts'

const NAME_CHARS_MAX = 128

/** Separators in the ledger keys of steps. */
const RESERVED = /[/#~%]/

export function checkName(what: string, name: unknown): void {
  if (typeof name !== 'string' || name === '' || name.length > NAME_CHARS_MAX)
    fail(`${what} needs a name of 1 to ${NAME_CHARS_MAX} characters`)
  if (RESERVED.test(name)) fail(`the name ${JSON.stringify(name)} has one of / # ~ %, which names of steps cannot have`)
}

/** A whole number from `min` to `max`. */
export function checkBound(what: string, value: unknown, max: number, min = 1): void {
  if (!Number.isInteger(value) || (value as number) < min || (value as number) > max)
    fail(`${what} must be a whole number from ${min} to ${max}, not ${String(value)}`)
}

export function checkFunction(what: string, value: unknown): void {
  if (typeof value !== 'function') fail(`${what} must be a function`)
}

/** Refuses options that a builder does not have. */
export function checkNames(what: string, definition: object, names: readonly string[]): void {
  checkAll(what, definition, Object.fromEntries(names.map((name) => [name, anything])))
}

export function checkBlockOptions(
  what: string,
  { retries, retryDelayMs, maxRetryDelayMs, review, timeoutMs, onError, confirm, question }: WorkflowStepOptions,
): void {
  if (timeoutMs !== undefined) checkBound(`timeoutMs of ${what}`, timeoutMs, TIMER_MAX_MS)
  if (retries !== undefined) checkBound(`retries of ${what}`, retries, ATTEMPTS_MAX - 1, 0)
  for (const [name, value] of Object.entries({ retryDelayMs, maxRetryDelayMs }))
    if (value !== undefined) checkBound(`${name} of ${what}`, value, TIMER_MAX_MS)
  if (typeof review === 'object' && review.rounds !== undefined)
    checkBound(`review.rounds of ${what}`, review.rounds, REVIEW_ROUNDS_MAX)
  if (onError !== undefined && !['fail', 'skip', 'ask'].includes(onError))
    fail(`onError of ${what} must be fail, skip or ask, not ${onError}`)
  for (const [name, asked] of Object.entries({ confirm, question, review }))
    if (asked !== undefined && typeof (typeof asked === 'object' ? asked.prompt : asked) !== 'string')
      fail(`${name} of ${what} needs a string to ask, or an object with a prompt`)
}

/** A step unchanged, or a component as a step named after its id. */
export function nodeOf(what: string, where: string, item: unknown): Node {
  if (isNode(item)) return item
  if (!isComponent(item)) fail(`${what}: ${where} is neither a step nor a component`)
  checkName('a component', item.id)
  return { type: 'step', kind: item.kind, name: item.id, run: item } satisfies StepNode
}

/** Steps of one level: at least one, with unique names. */
export function nodesOf(what: string, where: string, items: unknown): Node[] {
  if (!Array.isArray(items) || items.length === 0) fail(`${what} needs at least one entry in its ${where}`)
  const nodes = items.map((item, index) => nodeOf(what, `${where}[${index}]`, item))
  const names = new Set<string>()
  for (const { name } of nodes) {
    if (names.has(name)) fail(`${what} has two steps with the name ${JSON.stringify(name)}`)
    names.add(name)
  }
  return nodes
}

export function checkSize(what: string, nodes: readonly Node[]): void {
  const { count, depth } = measure(nodes)
  if (count > STEPS_MAX) fail(`${what} has ${count} steps; the maximum is ${STEPS_MAX}`)
  if (depth > DEPTH_MAX) fail(`${what} nests blocks ${depth} deep; the maximum is ${DEPTH_MAX}`)
}

function measure(nodes: readonly Node[]): { readonly count: number; readonly depth: number } {
  const below = nodes.map((node) => measure(childrenOf(node)))
  return {
    count: below.reduce((sum, { count }) => sum + count, nodes.length),
    depth: nodes.length === 0 ? 0 : 1 + Math.max(...below.map(({ depth }) => depth)),
  }
}

function childrenOf(node: Node): readonly Node[] {
  switch (node.type) {
    case 'step':
      return []
    case 'parallel':
      return node.branches
    case 'loop':
      return [node.body]
    case 'condition':
      return node.else === undefined ? [node.do] : [node.do, node.else]
    case 'router':
      return node.choices
    case 'sequence':
      return node.steps
  }
}

const TYPES: readonly unknown[] = ['step', 'parallel', 'loop', 'condition', 'router', 'sequence']

function isNode(value: unknown): value is Node {
  return TYPES.includes((value as Partial<Node> | null | undefined)?.type)
}

const KINDS: readonly unknown[] = ['agent', 'team', 'workflow']

export function isComponent(value: unknown): value is Component {
  const component = value as Partial<Component> | null | undefined
  return typeof component?.run === 'function' && typeof component.id === 'string' && KINDS.includes(component.kind)
}

export function fail(message: string): never {
  throw new TypeError(message)
}
