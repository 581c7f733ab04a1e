/** Creates runs directly in a store, without a server. */
import { systemIds } from '../src/core/ports/clock.ts'
import { encodeRecord, encodeTextBody } from '../src/core/model/record.ts'
import type { Run } from '../src/core/model/run.ts'
import type { LogWriter, Store } from '../src/core/ports/store.ts'
import { text } from './agent.ts'

const TIME = '2026-01-01T00:00:00.000Z'
const ids = systemIds()
const bodies = Array.from({ length: 256 }, (_, sequence) =>
  encodeTextBody(text(sequence, false), { maxDepth: 10, maxBytes: 4096 }),
)

/** A text record in a run's format. */
export function textRecord(run: string, index: number): string {
  return encodeRecord(run, index, TIME, 'text.delta', bodies[index % bodies.length]!)
}

export class OpenRun {
  readonly #run: Run
  readonly #writer: LogWriter

  private constructor(run: Run, writer: LogWriter) {
    this.#run = run
    this.#writer = writer
  }

  static async create(store: Store): Promise<OpenRun> {
    const id = ids.run()
    const created = { id, component: 'bench', session: id, owner: 'local', createdAt: TIME, updatedAt: TIME }
    const run: Run = { ...created, status: 'queued', attempt: 0 }
    const record = encodeRecord(id, 0, TIME, 'run.created', '"type":"run.created","data":{}}\n\n')
    const { stored } = await store.create({ run, record, claim: { worker: 'bench', ttlMs: 600_000 } })
    return new OpenRun(run, store.writer(id, { epoch: stored.epoch, next: stored.next }))
  }

  get id(): string {
    return this.#run.id
  }

  append(events: number): void {
    for (let event = 0; event < events; event++) this.#writer.append(textRecord(this.#run.id, this.#writer.next))
  }

  flush(): Promise<void> {
    return this.#writer.flush()
  }

  finish(): void {
    const body = '"type":"run.completed","data":{}}\n\n'
    const record = encodeRecord(this.#run.id, this.#writer.next, TIME, 'run.completed', body)
    this.#writer.append(record, { ...this.#run, status: 'completed', finishedAt: TIME })
  }
}
