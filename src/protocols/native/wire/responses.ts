/** Converts core objects to response shapes. */
import type { Component } from '../../../core/ports/component.ts'
import { lastOf, type RawRecord, rawRecords, type Slice, sliceAfter } from '../../../core/model/slice.ts'
import { schemasOf } from '../../../core/schema/component-schemas.ts'
import type { StoredRun } from '../../../core/ports/store.ts'
import type { ComponentShape, RunShape } from './shapes.ts'

export function toRun({ run, first, next, stop, damage }: StoredRun, output?: unknown): RunShape {
  const { owner: _owner, lane: _lane, wakeAt: _wakeAt, waiting, ...visible } = run
  return {
    ...visible,
    ...(waiting !== undefined && { waiting: [...waiting] }),
    events: next,
    earliest: first,
    ...(stop !== undefined && { stopRequested: true }),
    ...(damage !== undefined && { damaged: true }),
    ...(output !== undefined && { output }),
  }
}

export function toComponent(component: Component): ComponentShape {
  const { id, kind, name: title, description, version, recovery, onBusySession } = component
  const { input, output } = schemasOf(component)
  return {
    id,
    kind,
    ...(title !== undefined && { name: title }),
    ...(description !== undefined && { description }),
    ...(version !== undefined && { version }),
    ...(input !== undefined && { inputSchema: { ...input } }),
    ...(output !== undefined && { outputSchema: { ...output } }),
    recovery: recovery ?? 'fail',
    onBusySession: onBusySession ?? 'parallel',
  }
}

/** The stored envelopes of a slice. */
export function envelopes(slice: Slice): string[] {
  return rawRecords(slice).map(({ envelope }) => envelope)
}

const lastRecords = new WeakMap<Slice, RawRecord>()

/** The last record of a slice, shared by all readers of the slice. */
export function lastRecord(slice: Slice): RawRecord {
  let last = lastRecords.get(slice)
  if (last === undefined) lastRecords.set(slice, (last = rawRecords(sliceAfter(slice, lastOf(slice) - 1))[0]!))
  return last
}
