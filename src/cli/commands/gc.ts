/** `holdfast gc`: trims finished runs now. */
import { existsSync } from 'node:fs'
import { systemClock } from '../../core/ports/clock.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { defaultLimits, type Limits } from '../../core/model/limits.ts'
import { silentLogger } from '../../core/ports/logger.ts'
import { printable } from '../../core/model/printable.ts'
import { configOptions, type StoreConfig } from '../../server/config-options.ts'
import { toRetentionOptions } from '../../server/config.ts'
import { openStore } from '../../server/open-store.ts'
import { toSwitch } from '../../server/option-values.ts'
import { Retention, type RetentionSettings, SWEEP_FAILED } from '../../server/retention/retention.ts'
import { vacuumStore } from '../../server/store-backup.ts'
import { defineCommand } from '../command.ts'
import { copyProgress } from '../copy-progress.ts'
import { DONE } from '../exit-codes.ts'
import type { CommandIo } from '../io.ts'
import { stderrLogger } from '../stderr-logger.ts'
import { size } from '../terminal/text.ts'
import { defaultStore, storeText, targetOptions } from '../target.ts'

export const gc = defineCommand({
  operands: [],
  about: `Trims the events of finished runs that are older than --retain. A trimmed run is still listed, and keeps its last event: how it
ended. Removes finished runs that are older than --retain-runs, with their idempotency keys and idle sessions. With --retain-size, the
principals that store most are trimmed to a common level until everything fits (docs/operations.md). Unfinished runs are never touched.

--vacuum makes the file of a SQLite store as small as what it then holds. It needs as much free space as that. A file that was made by
this version gives space back by itself while a server runs, a slice at a time; one of an older version only does so after a vacuum.

Ages are trusted only when a server has watched the clock of the store within the last hour, and for 24 hours since the clock last
jumped; otherwise --retain and --retain-runs do nothing. With --now the clock is believed as it is.

It opens the store itself: a file while no server uses it, a store that servers share at any time. A server does this by itself,
every minute, when it is started with the same options.`,
  examples: [
    { line: 'holdfast gc --retain 30d --retain-size 10GB', does: 'what is older, or too much' },
    { line: 'holdfast gc --vacuum', does: 'trims nothing, and shrinks the file' },
  ],
  options: {
    store: targetOptions.store,
    retain: configOptions.retain,
    'retain-runs': configOptions['retain-runs'],
    'retain-size': configOptions['retain-size'],
    now: {
      parse: toSwitch,
      fallback: 'false',
      help: 'Believe the clock of this machine, though nobody has watched it.',
    },
    vacuum: { parse: toSwitch, fallback: 'false', help: 'Shrink the file of a SQLite store.' },
  },
  async run({ values }, io) {
    const retention = toRetentionOptions(values)
    const limits = {
      ...defaultLimits,
      retainMs: values.retain.defaultMs,
      retainRunsMs: values['retain-runs'].defaultMs,
      retainBytesMax: values['retain-size'],
    }
    const { retainMs, retainRunsMs, retainBytesMax } = limits
    const hasOverrides = Object.values(retention).some((overrides) => Object.keys(overrides).length > 0)
    const trims = retainMs > 0 || retainRunsMs > 0 || retainBytesMax > 0 || hasOverrides
    if (!trims && !values.vacuum)
      throw new HoldfastError(
        'invalid_request',
        'say what may go: --retain 30d, --retain-runs 90d, --retain-size 10GB, several of them, or --vacuum',
      )
    const config = values.store ?? defaultStore(io.env)
    if (config.kind === 'sqlite' && !existsSync(config.path)) throw new Error(`there is no store ${config.path}`)
    if (trims) await trim(config, limits, io, { ...retention, believesClock: values.now })
    if (!values.vacuum) return DONE
    const { bytes } = vacuumStore(config, copyProgress(io))
    io.stdout.write(`${storeText(config)}: the file has ${size(bytes)}\n`)
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
      else io.stderr.write(`${message}: ${reason}\nIf the clock of this machine is right, say so with --now.\n`)
    }
    const retention = new Retention(store, limits, systemClock, { ...silentLogger, warn }, settings)
    const { trimmed, removed, documents } = await retention.sweep()
    await retention.stop()
    if (failure !== undefined) throw new Error(failure)
    const gone =
      removed + documents === 0 ? '' : `, removed ${counted(removed, 'run')} and ${counted(documents, 'document')}`
    io.stdout.write(
      `${storeText(config)}: trimmed ${counted(trimmed, 'run')}${gone}; the store had ${size(before)}, and has ${size(await store.usage.total())}\n`,
    )
  } finally {
    await store.close()
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? '' : 's'}`
}
