/** Copies one run between stores, byte for byte, and resumes an interrupted copy. */
import { defaultLimits } from '../../core/model/limits.ts'
import { readCheckedLog } from '../../core/delivery/read-log.ts'
import type { TransferredRun } from '../../core/ports/store-transfer.ts'
import { lastOf, type Slice } from '../../core/model/slice.ts'
import type { Run } from '../../core/model/run.ts'
import type { Store, StoredRun } from '../../core/ports/store.ts'
import { digestOf } from './digest.ts'

/** `present`: the target already had the run, or another one with its id, and was left unchanged. */
export type RunCopyResult = 'copied' | 'continued' | 'present'

const decoder = new TextDecoder()

export async function copyRun(from: Store, to: Store, kept: TransferredRun): Promise<RunCopyResult> {
  const there = await to.get(kept.stored.run.id)
  if (there === undefined) {
    await append(from, to, kept, await admit(from, to, kept))
    return 'copied'
  }
  if (!isIncomplete(there) || !(await isBeginningOf(from, to, kept, there))) return 'present'
  await append(from, to, kept, there.next)
  return 'continued'
}

/** A paused run without a question: no worker claims it until the last record arrives, and nothing else creates such runs. */
function asIncomplete({ wakeAt: _wakeAt, finishedAt: _finishedAt, ...run }: Run): Run {
  return { ...run, status: 'paused', waiting: [] }
}

function isIncomplete({ run }: StoredRun): boolean {
  return run.status === 'paused' && run.waiting?.length === 0
}

async function isBeginningOf(from: Store, to: Store, { stored }: TransferredRun, there: StoredRun): Promise<boolean> {
  if (there.first !== stored.first || there.epoch !== stored.epoch || there.next >= stored.next) return false
  const beginning = { stored: there }
  return (await digestOf(to, beginning)) === (await digestOf(from, beginning))
}

/** Returns the next index. */
async function admit(from: Store, to: Store, { stored, idempotency }: TransferredRun): Promise<number> {
  const { run, first, next, epoch, stop } = stored
  const slice = await readCheckedLog(from, run.id, first - 1, 1)
  if (slice === undefined) throw new Error(`run ${run.id}: its log has no record at index ${first}`)
  const isWhole = next === first + 1
  const head = { run: isWhole ? run : asIncomplete(run), first, next: first + 1, epoch, ...(stop && { stop }) }
  await to.transfer.admit({ stored: head, ...(idempotency && { idempotency }) }, recordsOf(slice)[0]!)
  return first + 1
}

/** The last append also sets the run's state. */
async function append(from: Store, to: Store, { stored }: TransferredRun, start: number): Promise<void> {
  const { run, next, epoch } = stored
  if (start === next) return
  const writer = to.writer(run.id, { epoch, next: start })
  for (let index = start; index < next;) {
    const slice = await readCheckedLog(from, run.id, index - 1, defaultLimits.maxReadBytes)
    if (slice === undefined || lastOf(slice) >= next) throw new Error(`run ${run.id} changed while it was copied`)
    for (const record of recordsOf(slice)) writer.append(record, ++index === next ? run : undefined)
    await writer.flush()
  }
}

function recordsOf(slice: Slice): string[] {
  return decoder.decode(slice.bytes).split(/(?<=\n\n)/)
}
