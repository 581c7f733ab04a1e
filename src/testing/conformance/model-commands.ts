/** Random commands of the model test. */
import fc from 'fast-check'
import { anyCharacter } from '../any-character.ts'

const eventKinds = ['text', 'start', 'pause', 'ask', 'resume', 'end'] as const
const statusFilters = [undefined, ['queued', 'running'], ['paused'], ['completed', 'cancelled']] as const

const runs = fc.nat({ max: 7 })
const workers = fc.constantFrom('worker-1', 'worker-2')
const owners = fc.constantFrom('owner-1', 'owner-2')
const sessions = fc.constantFrom('session-1', 'session-2')

/** `run` selects an existing run, `writer` one of its writers that lost the lease. */
const commands = {
  create: fc.record({
    owner: owners,
    session: sessions,
    lane: fc.constantFrom(undefined, 'lane-1', 'lane-2'),
    key: fc.constantFrom(undefined, undefined, 'key-1', 'key-2'),
    fingerprint: fc.constantFrom('body-1', 'body-2'),
    rejectIfBusy: fc.boolean(),
    worker: fc.option(workers, { nil: undefined }),
  }),
  claim: fc.record({
    run: runs,
    worker: workers,
    paused: fc.boolean(),
    outOfOrder: fc.constantFrom(false, false, true),
  }),
  append: fc.record({
    run: runs,
    events: fc.array(fc.constantFrom(...eventKinds, 'text', 'text'), { minLength: 1, maxLength: 5 }),
    text: fc.string({ unit: anyCharacter, maxLength: 20 }),
    flush: fc.boolean(),
  }),
  appendToAll: fc.record({ text: fc.string({ unit: anyCharacter, maxLength: 20 }) }),
  intrude: fc.record({ run: runs, as: fc.constantFrom('zombie', 'twin'), writer: fc.nat({ max: 3 }) }),
  flush: fc.record({ run: runs }),
  release: fc.record({ run: runs, epochsBack: fc.nat({ max: 1 }) }),
  renew: fc.record({ worker: workers }),
  advance: fc.record({ seconds: fc.nat({ max: 12 }) }),
  stop: fc.record({ run: runs, by: owners }),
  trim: fc.record({ run: runs, before: fc.integer({ min: -1, max: 12 }) }),
  remove: fc.record({ run: runs, finish: fc.boolean() }),
  read: fc.record({ run: runs, after: fc.integer({ min: -1, max: 14 }), maxBytes: fc.constantFrom(1, 300, 100_000) }),
  list: fc.record({
    owner: fc.option(owners, { nil: undefined }),
    status: fc.constantFrom(...statusFilters),
    limit: fc.constantFrom(1, 2, 100),
  }),
  claimable: fc.record({ limit: fc.constantFrom(1, 2, 100) }),
  putDocument: fc.record({
    owner: owners,
    id: sessions,
    title: fc.constantFrom(undefined, 'A Tale', 'tales'),
    body: fc.constantFrom(null, 0, 'text', { state: [1] }),
    expected: fc.constantFrom('any', 'none', 'current', 'current', 'next'),
  }),
  removeDocument: fc.record({ owner: owners, id: sessions }),
  listDocuments: fc.record({
    owner: fc.option(owners, { nil: undefined }),
    title: fc.constantFrom(undefined, 'tale', 'a tale'),
    order: fc.constantFrom('created', 'updated'),
    ascending: fc.boolean(),
    offset: fc.nat({ max: 2 }),
    limit: fc.constantFrom(1, 100),
  }),
  reopen: fc.constant({}),
}

export type Commands = {
  [Name in keyof typeof commands]: (typeof commands)[Name] extends fc.Arbitrary<infer Value> ? Value : never
}

export type Command = { [Name in keyof Commands]: { readonly name: Name } & Commands[Name] }[keyof Commands]

/** Relative frequencies. */
const weights: Record<keyof Commands, number> = {
  create: 5,
  claim: 6,
  append: 10,
  appendToAll: 2,
  intrude: 4,
  flush: 2,
  release: 2,
  renew: 2,
  advance: 3,
  stop: 1,
  trim: 2,
  remove: 3,
  read: 3,
  list: 1,
  claimable: 1,
  putDocument: 3,
  removeDocument: 1,
  listDocuments: 1,
  reopen: 2,
}

export function commandLists(canReopen: boolean): fc.Arbitrary<Command[]> {
  const names = (Object.keys(commands) as (keyof Commands)[]).filter((name) => canReopen || name !== 'reopen')
  const any = names.map((name) => {
    const arbitrary = (commands[name] as fc.Arbitrary<object>).map((fields) => ({ name, ...fields }) as Command)
    return { arbitrary, weight: weights[name] }
  })
  return fc.array(fc.oneof(...any), { minLength: 5, maxLength: 40, size: 'max' })
}
