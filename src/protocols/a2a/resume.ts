/** Subscribing from a position: the events after it, exactly, or word that they are gone (docs/a2a-resume-extension.md). */
import { HoldfastError } from '../../core/errors.ts'
import type { Principal } from '../../core/principal.ts'
import type { Service } from '../../core/service.ts'
import type { StoredRun } from '../../core/store.ts'
import { foldRun } from '../../http/view.ts'
import { type Beginning, taskProjection } from './projection.ts'

export interface Resumed {
  readonly beginning: Beginning
  readonly gap: boolean
}

export async function resumeFrom(
  service: Service,
  principal: Principal,
  { run, first, next }: StoredRun,
  after: string,
): Promise<Resumed> {
  if (!/^\d{1,15}$/.test(after))
    throw new HoldfastError('cursor_invalid', `${JSON.stringify(after.slice(0, 100))} is not a position of an event`)
  if (first > 0) return { beginning: { kind: 'index', index: next - 1 }, gap: true }
  const { sequence } = await foldRun(service, principal, run.id, taskProjection)
  if (Number(after) >= sequence)
    throw new HoldfastError('cursor_invalid', `task ${run.id} has events 0 to ${sequence - 1}; there is no ${after}`)
  return { beginning: { kind: 'sequence', sequence: Number(after) }, gap: false }
}
