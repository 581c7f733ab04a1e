/** `holdfast copy`: copies everything from one store to another. */
import { existsSync } from 'node:fs'
import { setTimeout as wait } from 'node:timers/promises'
import { HoldfastError } from '../../core/model/errors.ts'
import type { Store } from '../../core/ports/store.ts'
import { configOptions, type StoreConfig } from '../../server/config/config-options.ts'
import { openStore } from '../../server/store/open-store.ts'
import { toSwitch } from '../../server/config/option-values.ts'
import { defineCommand } from '../command.ts'
import { DONE, FAILED } from '../exit-codes.ts'
import type { CommandIo } from '../io.ts'
import { stderrLogger } from '../logging/stderr-logger.ts'
import { storeText } from '../target/target.ts'
import { type CopyReport, copyStore } from '../transfer/copy-store.ts'

/** A node that was just stopped counts as active until its last lease expires. */
const IDLE_WITHIN_MS = 15_000
const LOOK_MS = 500
const PROGRESS_MS = 1000

export const copy = defineCommand({
  operands: [],
  about: `Copies everything from one store to another: runs with their logs, byte for byte and under the same ids, so that clients
keep their cursors; sessions and other documents; idempotency keys; stop requests. Trimmed logs stay trimmed. The source
is not changed.

Stop the servers and workers of both stores first: copy refuses to start while one is running. Unfinished runs are
copied too. Queued and paused runs stay queued and paused. Running ones are recovered in the target as after a crash.

Everything is verified by digest after the copy. To finish an interrupted copy, run the same command again. If the
target has different data under the same id, it is left unchanged and reported, and the command fails.`,
  examples: [
    {
      command: 'holdfast copy --from sqlite:.holdfast/holdfast.db --to postgres://db.example/app',
      description: 'move to many nodes',
    },
    {
      command: 'holdfast copy --from postgres://db.example/app --to sqlite:copy.db',
      description: 'move back, or inspect locally',
    },
  ],
  options: {
    from: {
      value: 'STORE',
      parse: configOptions.store.parse,
      help: 'Source store: sqlite:PATH, postgres://… or nats://….',
    },
    to: { value: 'STORE', parse: configOptions.store.parse, help: 'Target store. Created if it does not exist.' },
    json: { parse: toSwitch, fallback: 'false', help: 'Print the report as JSON.' },
  },
  async run({ values }, io) {
    const { from, to } = storesOf(values.from, values.to)
    const [fromText, toText] = [storeText(from), storeText(to)]
    const source = await openStore(from, stderrLogger(io))
    try {
      const target = await openStore(to, stderrLogger(io))
      try {
        await untilIdle(source, fromText, io)
        await untilIdle(target, toText, io)
        const report = await copyStore(source, target, progressTo(io))
        if ((await source.transfer.workers()).length > 0)
          throw new Error(`${fromText} was in use during the copy: stop its servers and workers, and copy again`)
        io.stdout.write(values.json ? `${JSON.stringify({ from: fromText, to: toText, ...report })}\n` : textOf(report))
        return report.mismatched === 0 ? DONE : FAILED
      } finally {
        await target.close()
      }
    } finally {
      await source.close()
    }
  },
})

function storesOf(
  from: StoreConfig | undefined,
  to: StoreConfig | undefined,
): { readonly from: StoreConfig; readonly to: StoreConfig } {
  if (from === undefined || to === undefined)
    throw new HoldfastError('invalid_request', 'source or target is missing: pass --from STORE and --to STORE')
  for (const { kind } of [from, to])
    if (kind === 'memory') throw new HoldfastError('invalid_request', 'a memory store cannot be copied')
  if (JSON.stringify(from) === JSON.stringify(to))
    throw new HoldfastError('invalid_request', '--from and --to are the same store')
  if (from.kind === 'sqlite' && !existsSync(from.path)) throw new Error(`there is no store ${from.path}`)
  return { from, to }
}

async function untilIdle(store: Store, name: string, io: CommandIo): Promise<void> {
  const until = performance.now() + IDLE_WITHIN_MS
  for (let looks = 0; (await store.transfer.workers()).length > 0 && performance.now() < until; looks++) {
    if (looks === 0) io.stderr.write(`waiting for the servers and workers of ${name} to stop\n`)
    await wait(LOOK_MS)
  }
  const { length } = await store.transfer.workers()
  if (length === 0) return
  const nodes = length === 1 ? 'a node is' : `${length} nodes are`
  throw new Error(`${nodes} using ${name}: stop its servers and workers, and copy again`)
}

function progressTo(io: CommandIo): (report: CopyReport) => void {
  let shownAt = performance.now()
  return (report) => {
    if (performance.now() - shownAt < PROGRESS_MS) return
    shownAt = performance.now()
    io.stderr.write(`${summaryOf(report)} …\n`)
  }
}

function summaryOf({ runs, documents, events }: CopyReport): string {
  const present = runs.present + documents.present
  const there = present === 0 ? '' : `, ${present} already there`
  return `${runs.copied + runs.continued} runs and ${documents.copied} documents copied${there}; ${events} events verified`
}

function textOf(report: CopyReport): string {
  const { unfinished, mismatched, mismatches } = report
  const unfinishedTexts = Object.entries(unfinished).map(([status, number]) => `${number} ${status}`)
  return [
    summaryOf(report),
    ...(unfinishedTexts.length > 0 ? [`unfinished, continue in the target: ${unfinishedTexts.join(', ')}`] : []),
    ...mismatches.map(({ run, document, problem }) => `${run ?? document}: ${problem}`),
    ...(mismatched > 0 ? [`${mismatched} differ and were left unchanged`] : []),
  ]
    .map((line) => `${line}\n`)
    .join('')
}
