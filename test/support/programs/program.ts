/** Random agent programs: execution, expected results, and small mutations. */
import fc from 'fast-check'

export type Node =
  | { readonly do: 'tool'; readonly name: string; readonly input: number; readonly idempotent: boolean }
  | {
      readonly do: 'step'
      readonly name: string
      readonly key?: string
      readonly body: Program
      /** Throws after its body, which the program catches. */
      readonly fails: boolean
    }
  | {
      readonly do: 'call'
      readonly name: string
      readonly input: number
      readonly body: Program
      readonly fails: boolean
    }
  | { readonly do: 'ask'; readonly prompt: string }
  | { readonly do: 'say'; readonly text: string }
  | { readonly do: 'sleep'; readonly ms: number }
  | {
      readonly do: 'parallel'
      readonly branches: readonly Program[]
      /** Each branch has its own context. */
      readonly within: boolean
      /** Prefix of the names of those contexts. */
      readonly names?: string
    }

export type Program = readonly Node[]

/** A tool's result: a receipt that identifies the call. A negative input fails, which the program catches. */
export function receipt(name: string, input: number): string {
  return `${name}(${input})`
}

/** Message of the error of a step or call that fails. */
export function failureOf(name: string): string {
  return `${name} failed`
}

export function answerTo(prompt: string): string {
  return `answer to ${prompt}`
}

/** The expected result of a program, computed without a run. */
export function outcome(program: Program): unknown[] {
  return program.map((node) => {
    switch (node.do) {
      case 'tool':
        return node.input < 0 ? `caught ${receipt(node.name, node.input)}` : receipt(node.name, node.input)
      case 'step':
      case 'call':
        return node.fails ? `caught ${failureOf(node.name)}` : outcome(node.body)
      case 'ask':
        return answerTo(node.prompt)
      case 'parallel':
        return node.branches.map(outcome)
      default:
        return null
    }
  })
}

/** Receipts of all successful tool calls, sorted. */
export function effectsOf(program: Program): string[] {
  return program
    .flatMap((node): string[] => {
      if (node.do === 'tool') return node.input < 0 ? [] : [receipt(node.name, node.input)]
      if (node.do === 'step' || node.do === 'call') return effectsOf(node.body)
      return node.do === 'parallel' ? node.branches.flatMap(effectsOf) : []
    })
    .toSorted()
}

/** Few names and inputs, so that much work is identified only by its position. */
const name = fc.constantFrom('a', 'b')
const input = fc.integer({ min: -1, max: 2 })

/** A second is recorded; shorter sleeps are not. */
const ms = fc.oneof({ weight: 2, arbitrary: fc.integer({ min: 0, max: 3 }) }, fc.constant(1000))

const leaf: fc.Arbitrary<Node> = fc.oneof(
  { weight: 5, arbitrary: fc.record({ do: fc.constant('tool' as const), name, input, idempotent: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('ask' as const), prompt: fc.constantFrom('P?', 'Q?') }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('sleep' as const), ms }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('say' as const), text: fc.constantFrom('x', 'y') }) },
)

function programs(depth: number, size: number): fc.Arbitrary<Program> {
  return fc.array(depth === 0 ? leaf : fc.oneof({ weight: 3, arbitrary: leaf }, nested(depth)), {
    minLength: 1,
    maxLength: size,
  })
}

const fails = fc.oneof({ weight: 3, arbitrary: fc.constant(false) }, fc.constant(true))

function nested(depth: number): fc.Arbitrary<Node> {
  const body = programs(depth - 1, 3)
  return fc.oneof(
    fc.record({ do: fc.constant('step' as const), name, body, fails }),
    fc.record({ do: fc.constant('call' as const), name, input, body, fails }),
    fc.record({
      do: fc.constant('parallel' as const),
      branches: fc.array(programs(depth - 1, 2), { minLength: 2, maxLength: 3 }),
      within: fc.boolean(),
    }),
  )
}

/** A program whose concurrent work is distinguishable. */
export const program: fc.Arbitrary<Program> = programs(2, 5).map((given) => distinct(given, 'parallel', false))

/** A program whose steps and calls are all distinguishable, so that reordering is allowed. */
export const namedProgram: fc.Arbitrary<Program> = programs(2, 5).map((given) => distinct(given, 'all', true))

/** Gives steps unique keys, calls unique inputs and branches unique names: all of them, or only concurrent ones. */
function distinct(given: Program, which: 'parallel' | 'all', isOwn: boolean, path = ''): Program {
  const isInner = which === 'all'
  return given.map((node, at): Node => {
    const own = `${path}${at}`
    switch (node.do) {
      case 'step':
        return { ...node, ...(isOwn && { key: own }), body: distinct(node.body, which, isInner, `${own}.`) }
      case 'call':
        return {
          ...node,
          input: isOwn ? 1000 + Number(own.replaceAll('.', '')) : node.input,
          body: distinct(node.body, which, isInner, `${own}.`),
        }
      case 'parallel':
        return {
          ...node,
          ...(isOwn && { names: `${own}.` }),
          branches: node.branches.map((branch, number) => distinct(branch, which, true, `${own}.${number}.`)),
        }
      default:
        return node
    }
  })
}

/** Mutates a program at its top level or in a branch there, because the inside of a finished step is not replayed. */
export interface Edit {
  readonly at: number
  readonly how: 'remove' | 'insert' | 'input' | 'rename' | 'swap'
}

export const edit: fc.Arbitrary<Edit> = fc.record({
  at: fc.nat({ max: 30 }),
  how: fc.constantFrom('remove', 'insert', 'input', 'rename', 'swap'),
})

export function edited(given: Program, { at, how }: Edit): Program {
  const index = at % given.length
  const node = given[index]!
  if (node.do === 'parallel' && how !== 'remove' && how !== 'swap') {
    const branch = at % node.branches.length
    const branches = node.branches.map((each, number) =>
      number === branch ? edited(each, { at: at >> 2, how }) : each,
    )
    return given.with(index, { ...node, branches })
  }
  const fresh: Node = { do: 'tool', name: 'new', input: 7, idempotent: false }
  switch (how) {
    case 'remove':
      return given.toSpliced(index, 1)
    case 'insert':
      return given.toSpliced(index, 0, fresh)
    case 'swap': {
      const next = given[index + 1]
      return next === undefined ? given : given.with(index, next).with(index + 1, node)
    }
    case 'input':
      return given.with(index, node.do === 'tool' || node.do === 'call' ? { ...node, input: node.input + 100 } : fresh)
    case 'rename':
      return given.with(index, 'name' in node ? { ...node, name: `${node.name}2` } : fresh)
  }
}
