/** Applies each command to the store and to the model, and compares the results. */
import { expect } from 'vitest'
import { assert } from '../../core/model/errors.ts'
import { isFinished } from '../../core/model/run.ts'
import type { StoredRun } from '../../core/ports/store.ts'
import { RunWriter } from '../fixtures.ts'
import type { Command, Commands } from './model-commands.ts'
import { listDocuments, putDocument, removeDocument } from './model-documents.ts'
import { Model, type ModelRun } from './model-state.ts'
import { expectSameBytes, readBytes, readPages, refusalOf } from './reading.ts'
import type { Trial } from './trial.ts'

/** Not a whole number of seconds, while the clock moves in seconds: no lease is checked at the moment it expires. */
const LEASE_MS = 6001

export interface ModelRunner {
  readonly trial: Trial
  readonly model: Model
  /** The writer of each run's current lease. */
  readonly writers: Map<ModelRun, RunWriter>
  /** Writers whose lease ended. */
  readonly retired: Map<ModelRun, RunWriter[]>
}

export function modelRunner(trial: Trial): ModelRunner {
  return { trial, model: new Model(() => trial.clock.now()), writers: new Map(), retired: new Map() }
}

export async function execute(world: ModelRunner, command: Command): Promise<void> {
  const run = 'run' in command ? world.model.runs[command.run % world.model.runs.length] : undefined
  if ('run' in command && run === undefined) return
  // While records are pending, most results depend on timing. These commands allow for that.
  const copes = ['append', 'flush', 'advance', 'reopen', 'read', 'claim'].includes(command.name)
  if (!copes || command.name === 'claim') await flushAll(world, copes ? run : undefined)
  const handle = handlers[command.name] as Handler<Command>
  await handle(world, command, run!)
  if (run !== undefined && world.model.runs.includes(run) && run.pending.length === 0) await compare(world, run)
}

/** At the end of a command list: compares the whole store with the whole model. */
export async function compareAll(world: ModelRunner): Promise<void> {
  await flushAll(world)
  for (const run of world.model.runs) {
    await compare(world, run)
    for (const maxBytes of [1, 1000, 100_000]) {
      const pages = await readPages(world.trial.store, run.run.id, { after: run.first - 1, maxBytes })
      expectSameBytes(Buffer.concat(pages.map(({ bytes }) => bytes)), run.records.slice(run.first))
      expect(pages.at(-1)?.closed).toBe(isFinished(run.run.status))
    }
  }
  await list(world, { owner: undefined, status: undefined, limit: 100 })
  await claimable(world, { limit: 100 })
  await listDocuments(world, {
    owner: undefined,
    title: undefined,
    order: 'updated',
    ascending: true,
    offset: 0,
    limit: 100,
  })
}

type Handler<Fields> = (world: ModelRunner, fields: Fields, run: ModelRun) => Promise<void> | void

/** `run` is set for commands that select one. */
const handlers: { readonly [Name in keyof Commands]: Handler<Commands[Name]> } = {
  create,
  claim,
  append,
  appendToAll,
  intrude,
  flush: (world, _, run) => flush(world, run),
  release,
  renew,
  advance: ({ trial }, { seconds }) => trial.clock.advance(seconds * 1000),
  stop,
  trim,
  remove,
  read,
  list,
  claimable,
  putDocument,
  removeDocument,
  listDocuments,
  reopen,
}

async function create(world: ModelRunner, command: Commands['create']): Promise<void> {
  const { worker, key, fingerprint, lane, owner, session, rejectIfBusy } = command
  const draft = world.trial.newRun({
    owner,
    session,
    rejectIfBusy,
    ...(lane && { lane }),
    ...(key && { idempotency: { key, fingerprint } }),
    ...(worker && { claim: { worker: worker, ttlMs: LEASE_MS } }),
  })
  const expected = world.model.create(draft)
  const actual = await world.trial.store.create(draft)
  expect(actual.kind).toBe(expected.kind)
  compareStored(world, actual.stored, expected.run)
  if (actual.kind === 'created' && expected.run.lease) write(world, expected.run, actual.stored)
}

async function claim(
  world: ModelRunner,
  { worker, paused, outOfOrder }: Commands['claim'],
  run: ModelRun,
): Promise<void> {
  const { model, trial, writers } = world
  const options = { paused, outOfOrder }
  const wasClaimable = model.isClaimable(run, options)
  const wasPending = run.pending.length > 0
  const given = await trial.store.claim(run.run.id, worker, LEASE_MS, options)
  if (given === undefined) {
    await flush(world, run)
    // A pending record may have paused or finished the run just before.
    if (!wasPending || model.isClaimable(run, options)) expect(wasClaimable, 'a claimable run was refused').toBe(false)
    return
  }
  model.settle(run, given.next)
  expect(model.isClaimable(run, options), 'a run was given that is not claimable').toBe(true)
  const lost = run.pending.splice(0).length > 0
  if (lost) expect(await refusalOf(() => writers.get(run)?.flush())).toBe('fenced')
  model.claim(run, worker, LEASE_MS)
  compareStored(world, given, run)
  retire(world, run)
  write(world, run, given)
}

async function append(world: ModelRunner, command: Commands['append'], run: ModelRun): Promise<void> {
  const runWriter = world.writers.get(run)
  if (runWriter === undefined) return
  for (const kind of command.events) {
    const before = runWriter.run
    if (!appendOne(runWriter, kind, command.text)) continue
    run.pending.push({
      record: runWriter.records.at(-1)!,
      change: runWriter.run === before ? undefined : runWriter.run,
    })
  }
  if (command.flush) await flush(world, run)
}

/** Appends to many runs, which a store may commit together. */
async function appendToAll(world: ModelRunner, { text }: Commands['appendToAll']): Promise<void> {
  const runs = [...world.writers.keys()].filter((run) => world.model.runs.includes(run))
  await Promise.all(runs.map((run) => append(world, { run: 0, events: ['text'], text, flush: true }, run)))
}

/** Appends an event if it is valid in the run's state; returns whether. */
function appendOne(runWriter: RunWriter, kind: Commands['append']['events'][number], text: string): boolean {
  const { status } = runWriter.run
  if (isFinished(status)) return false
  if (kind === 'text') runWriter.text(text)
  else if (kind === 'start' && status !== 'paused') runWriter.start()
  else if (kind === 'pause' && status === 'running') runWriter.pause()
  else if (kind === 'ask' && status === 'running') runWriter.pause(5000)
  else if (kind === 'resume' && status === 'paused') runWriter.resume()
  else if (kind === 'end' && status === 'running') runWriter.complete()
  else if (kind === 'end') runWriter.cancel()
  else return false
  return true
}

/** A writer that lost its lease, or a second writer one record behind, tries to append. */
async function intrude(world: ModelRunner, { as, writer }: Commands['intrude'], run: ModelRun): Promise<void> {
  const zombies = (world.retired.get(run) ?? []).filter((runWriter) => runWriter.epoch < run.epoch)
  const twin = world.trial.store.writer(run.run.id, { epoch: run.epoch, next: run.records.length - 1 })
  const intruder = as === 'twin' ? twin : zombies[writer % zombies.length]?.writer
  if (intruder === undefined) return
  const refusal = await refusalOf(async () => {
    intruder.append(run.records.at(-1)!)
    await intruder.flush()
  })
  expect(['fenced', 'closed']).toContain(refusal)
}

async function release(world: ModelRunner, { epochsBack }: Commands['release'], run: ModelRun): Promise<void> {
  await world.trial.store.release(run.run.id, run.epoch - epochsBack)
  if (epochsBack > 0) return
  run.lease = undefined
  retire(world, run)
}

async function renew(world: ModelRunner, { worker }: Commands['renew']): Promise<void> {
  const renewed = await world.trial.store.renew(worker, LEASE_MS)
  expect(renewed.map(({ id }) => id).toSorted()).toEqual(world.model.renew(worker, LEASE_MS).toSorted())
}

async function stop(world: ModelRunner, { by }: Commands['stop'], run: ModelRun): Promise<void> {
  const request = { at: world.trial.clock.iso(), by }
  if (!isFinished(run.run.status)) run.stop ??= request
  compareStored(world, await world.trial.store.requestStop(run.run.id, request), run)
}

async function trim(world: ModelRunner, { before }: Commands['trim'], run: ModelRun): Promise<void> {
  world.model.trim(run, before)
  await world.trial.store.trim(run.run.id, before)
}

async function remove(world: ModelRunner, { finish }: Commands['remove'], run: ModelRun): Promise<void> {
  const { trial, model } = world
  if (finish) await append(world, { run: 0, events: ['end'], text: '', flush: true }, run)
  const refusal = await refusalOf(() => trial.store.remove(run.run.id))
  expect(refusal).toBe(isFinished(run.run.status) ? undefined : 'conflict')
  if (refusal !== undefined) return
  model.remove(run)
  expect(await trial.store.get(run.run.id)).toBeUndefined()
}

async function read({ trial, model }: ModelRunner, command: Commands['read'], run: ModelRun): Promise<void> {
  const { after, maxBytes } = command
  const { id } = run.run
  if (run.pending.length > 0) {
    const bytes = await readBytes(trial.store, id, { after: run.first - 1, maxBytes })
    model.settle(run, run.first + bytes.toString().split('\n\n').length - 1)
    expectSameBytes(bytes, run.records.slice(run.first))
  } else if (after >= run.records.length) {
    expect(await refusalOf(() => trial.store.read(id, after, maxBytes))).toBe('cursor_invalid')
  } else if (after < run.first - 1) {
    expect(await refusalOf(() => trial.store.read(id, after, maxBytes))).toBe('cursor_expired')
  } else {
    expectSameBytes(await readBytes(trial.store, id, { after, maxBytes }), run.records.slice(after + 1))
  }
}

async function list(world: ModelRunner, { owner, status, limit }: Commands['list']): Promise<void> {
  const shown = (run: ModelRun['run']): boolean =>
    (owner === undefined || run.owner === owner) && (status === undefined || status.some((each) => each === run.status))
  const expected = world.model.newestFirst().filter(({ run }) => shown(run))
  const query = { limit, ...(owner && { owner }), ...(status && { status }) }
  let page = await world.trial.store.list(query)
  const runs = [...page.runs]
  while (page.cursor !== undefined && runs.length <= expected.length) {
    page = await world.trial.store.list({ ...query, after: page.cursor })
    runs.push(...page.runs)
  }
  expect(runs.map(({ run }) => run.id)).toEqual(expected.map(({ run }) => run.id))
  for (const [index, stored] of runs.entries()) compareStored(world, stored, expected[index]!)
}

async function claimable({ trial, model }: ModelRunner, { limit }: Commands['claimable']): Promise<void> {
  const expected = model.claimable()
  const ranks = new Map(expected.map(({ each, rank }) => [each.run.id, rank]))
  const found = await trial.store.claimable(limit)
  expect(found.map((id) => ranks.get(id))).toEqual(expected.slice(0, limit).map(({ rank }) => rank))
  expect(new Set(found).size, 'no run is given twice').toBe(found.length)
}

async function reopen(world: ModelRunner): Promise<void> {
  const { trial, model } = world
  await trial.reopen()
  world.writers.clear()
  world.retired.clear()
  for (const run of model.runs) {
    const stored = await trial.store.get(run.run.id)
    assert(stored, `run ${run.run.id} is there after a reopen`)
    model.settle(run, stored.next)
    run.pending = []
    if (trial.target.leasesSurviveReopen === false) run.lease = undefined
    compareStored(world, stored, run)
  }
}

function write({ trial, writers }: ModelRunner, run: ModelRun, given: StoredRun): void {
  writers.set(run, new RunWriter(trial.store, trial.clock, given, run.records))
}

function retire({ writers, retired }: ModelRunner, run: ModelRun): void {
  const writer = writers.get(run)
  if (writer === undefined) return
  writers.delete(run)
  retired.set(run, [...(retired.get(run) ?? []), writer])
}

async function flush({ model, writers }: ModelRunner, run: ModelRun): Promise<void> {
  await writers.get(run)?.flush()
  model.settle(run, run.records.length + run.pending.length)
}

async function flushAll(world: ModelRunner, except?: ModelRun): Promise<void> {
  for (const run of world.model.runs) if (run !== except && run.pending.length > 0) await flush(world, run)
}

async function compare(world: ModelRunner, run: ModelRun): Promise<void> {
  compareStored(world, await world.trial.store.get(run.run.id), run)
}

function compareStored({ trial, model }: ModelRunner, actual: StoredRun | undefined, expected: ModelRun): void {
  const { run, first, records, epoch } = expected
  assert(actual, `run ${run.id} is there`)
  const { lease, ...rest } = actual
  expect(rest).toEqual({ run, first, next: records.length, epoch, stop: expected.stop })
  // An expired lease may be shown or not.
  if (model.isHeld(expected)) expect(lease).toEqual(expected.lease)
  else expect(lease?.until ?? 0).toBeLessThanOrEqual(trial.clock.now())
}
