/** `holdfast gc`: applies retention limits now. */
import { existsSync } from 'node:fs'
import { systemClock } from '../../core/ports/clock.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { defaultLimits, type Limits } from '../../core/model/limits.ts'
import { silentLogger } from '../../core/ports/logger.ts'
import { printable } from '../../core/model/printable.ts'
import { configOptions, type StoreConfig } from '../../server/config/config-options.ts'
import { toRetentionOptions } from '../../server/config/config.ts'
import { openStore } from '../../server/store/open-store.ts'
import { toSwitch } from '../../server/config/option-values.ts'
import { Retention, type RetentionSettings, SWEEP_FAILED } from '../../server/retention/retention.ts'
import { vacuumStore } from '../../server/store/store-backup.ts'
import { defineCommand } from '../command.ts'
import { copyProgress } from '../transfer/copy-progress.ts'
import { DONE } from '../exit-codes.ts'
import type { CommandIo } from '../io.ts'
import { stderrLogger } from '../logging/stderr-logger.ts'
import { size } from '../terminal/text.ts'
import { defaultStore, storeText, targetOptions } from '../target/target.ts'

export const gc = defineCommand({
  operands: [],
  about: `Applies retention limits now. --retain trims the events of runs that finished longer ago: they stay listed and keep
their last event. --retain-runs removes such runs with their idempotency keys, and idle sessions. --retain-size trims
the principals that store most to a common level until the store fits (docs/operations.md). Unfinished runs are never
touched.

--vacuum shrinks the file of a SQLite store, and needs as much free space as the file then has. Files created by this
version return space by themselves while a server runs; older files do so only after a vacuum.

--retain and --retain-runs need a reliable clock. They do nothing unless a server ran in the last hour and saw no clock
jump for 24 hours. --now skips this check.

The command opens the store itself: a SQLite file while no server uses it, a shared store at any time. A server that is
started with the same options does this every minute.`,
  examples: [
    { command: 'holdfast gc --retain 30d --retain-size 10GB', description: 'by age and by size' },
    { command: 'holdfast gc --vacuum', description: 'only shrink the file' },
  ],
  options: {
    store: targetOptions.store,
    retain: configOptions.retain,
    'retain-runs': configOptions['retain-runs'],
    'retain-size': configOptions['retain-size'],
    now: {
      parse: toSwitch,
      fallback: 'false',
      help: "Trust this machine's clock even if no server has verified it in the last hour.",
    },
    vacuum: { parse: toSwitch, fallback: 'false', help: 'Shrink the file of a SQLite store.' },
  },
  async run({ values }, io) {
    const retention = toRetentionOptions(values)
    const limits = {
      ...defaultLimits,
      retainMs: values.retain.defaultMs,
      retainRunsMs: values['retain-runs'].defaultMs,
      maxRetainedBytes: values['retain-size'],
    }
    const { retainMs, retainRunsMs, maxRetainedBytes } = limits
    const hasOverrides = Object.values(retention).some((overrides) => Object.keys(overrides).length > 0)
    const trims = retainMs > 0 || retainRunsMs > 0 || maxRetainedBytes > 0 || hasOverrides
    if (!trims && !values.vacuum)
      throw new HoldfastError(
        'invalid_request',
        'nothing to do: pass --retain 30d, --retain-runs 90d, --retain-size 10GB or --vacuum',
      )
    const config = values.store ?? defaultStore(io.env)
    if (config.kind === 'sqlite' && !existsSync(config.path)) throw new Error(`there is no store ${config.path}`)
    if (trims) await trim(config, limits, io, { ...retention, believesClock: values.now })
    if (!values.vacuum) return DONE
    const { bytes } = vacuumStore(config, copyProgress(io))
    io.stdout.write(`${storeText(config)}: the file now has ${size(bytes)}\n`)
    return DONE
  },
})

async function trim(config: StoreConfig, limits: Limits, io: CommandIo, settings: RetentionSettings): Promise<void> {
  const store = await openStore(config, stderrLogger(io))
  try {
    const before = await store.usage.total()
    let failure: string | undefined
    const warn = (fields: object, message: string): void => {
      const { reason, ...rest } = fields as { reason?: string }
      if (message === SWEEP_FAILED) failure = reason
      else if (reason === undefined) io.stderr.write(`${message}: ${printable(JSON.stringify(rest))}\n`)
      else io.stderr.write(`${message}: ${reason}\nIf the clock of this machine is right, use --now.\n`)
    }
    const retention = new Retention(store, limits, systemClock, { ...silentLogger, warn }, settings)
    const { trimmed, removed, documents } = await retention.sweep()
    await retention.close()
    if (failure !== undefined) throw new Error(failure)
    const removedText =
      removed + documents === 0 ? '' : `, removed ${countText(removed, 'run')} and ${countText(documents, 'document')}`
    io.stdout.write(
      `${storeText(config)}: trimmed ${countText(trimmed, 'run')}${removedText}; the store had ${size(before)}, now ${size(await store.usage.total())}\n`,
    )
  } finally {
    await store.close()
  }
}

function countText(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
