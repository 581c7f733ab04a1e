/** Converts core objects to response shapes. */
import type { Component } from '../../core/ports/component.ts'
import { rawRecords, type Slice } from '../../core/model/record.ts'
import type { StoredRun } from '../../core/ports/store.ts'
import type { ComponentShape, RunShape } from './shapes.ts'

export function toRun({ run, first, next, stop, damage }: StoredRun, output?: unknown): RunShape {
  const { owner: _owner, lane: _lane, wakeAt: _wakeAt, waiting, ...shown } = run
  return {
    ...shown,
    ...(waiting !== undefined && { waiting: [...waiting] }),
    events: next,
    earliest: first,
    ...(stop !== undefined && { stopRequested: true }),
    ...(damage !== undefined && { damaged: true }),
    ...(output !== undefined && { output }),
  }
}

export function toComponent(component: Component): ComponentShape {
  const { id, kind, name: title, description, version, info, recovery, session } = component
  return {
    id,
    kind,
    ...(title !== undefined && { name: title }),
    ...(description !== undefined && { description }),
    ...(version !== undefined && { version }),
    ...(info?.inputSchema !== undefined && { inputSchema: info.inputSchema }),
    recovery: recovery ?? 'fail',
    session: session ?? 'parallel',
  }
}

/** The stored envelopes of a slice. */
export function envelopes(slice: Slice): string[] {
  return rawRecords(slice).map(({ envelope }) => envelope)
}
