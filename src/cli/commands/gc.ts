/** `holdfast gc`: trims finished runs now. */
import { existsSync } from 'node:fs'
import { systemClock } from '../../core/clock.ts'
import { HoldfastError } from '../../core/errors.ts'
import { defaultLimits, type Limits } from '../../core/limits.ts'
import { silentLogger } from '../../core/logger.ts'
import { configOptions, type StoreConfig } from '../../server/config-options.ts'
import { openStore } from '../../server/open-store.ts'
import { toSwitch } from '../../server/option-values.ts'
import { Retention, SWEEP_FAILED } from '../../server/retention.ts'
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
  about: `Trims the events of finished runs that are older than --retain, and of the oldest ones while the log is larger than --retain-size. A
trimmed run is still listed, and keeps its last event: how it ended. Runs that are not over are never touched.

--vacuum makes the file of a SQLite store as small as what it then holds. It needs as much free space as that. A file that was made by
this version gives space back by itself while a server runs, a slice at a time; one of an older version only does so after a vacuum.

Ages are trusted only when a server has watched the clock of the store within the last hour, and for 24 hours since the clock last
jumped; otherwise --retain trims nothing. With --now the clock is believed as it is.

It opens the store itself: a file while no server uses it, a store that servers share at any time. A server does this by itself,
every minute, when it is started with the same options.`,
  examples: [
    { line: 'holdfast gc --retain 30d --retain-size 10GB', does: 'what is older, or too much' },
    { line: 'holdfast gc --vacuum', does: 'trims nothing, and shrinks the file' },
  ],
  options: {
    store: targetOptions.store,
    retain: configOptions.retain,
    'retain-size': configOptions['retain-size'],
    now: {
      parse: toSwitch,
      fallback: 'false',
      help: 'Believe the clock of this machine, though nobody has watched it.',
    },
    vacuum: { parse: toSwitch, fallback: 'false', help: 'Shrink the file of a SQLite store.' },
  },
  async run({ values }, io) {
    const limits = { ...defaultLimits, retainMs: values.retain, retainBytesMax: values['retain-size'] }
    const trims = limits.retainMs > 0 || limits.retainBytesMax > 0
    if (!trims && !values.vacuum)
      throw new HoldfastError('invalid_request', 'say what may go: --retain 30d, --retain-size 10GB, both, or --vacuum')
    const config = values.store ?? defaultStore(io.env)
    if (config.kind === 'sqlite' && !existsSync(config.path)) throw new Error(`there is no store ${config.path}`)
    if (trims) await trim(config, limits, io, values.now)
    if (!values.vacuum) return DONE
    const { bytes } = vacuumStore(config, copyProgress(io))
    io.stdout.write(`${storeText(config)}: the file has ${size(bytes)}\n`)
    return DONE
  },
})

async function trim(config: StoreConfig, limits: Limits, io: CommandIo, believesClock: boolean): Promise<void> {
  const store = await openStore(config, stderrLogger(io))
  try {
    const before = await store.size()
    let failure: string | undefined
    const warn = (fields: object, message: string): void => {
      const { reason } = fields as { reason: string }
      if (message === SWEEP_FAILED) failure = reason
      else io.stderr.write(`${message}: ${reason}\nIf the clock of this machine is right, say so with --now.\n`)
    }
    const retention = new Retention(store, limits, systemClock, { ...silentLogger, warn }, { believesClock })
    const trimmed = await retention.sweep()
    await retention.stop()
    if (failure !== undefined) throw new Error(failure)
    const runs = trimmed === 1 ? '1 run' : `${trimmed} runs`
    io.stdout.write(
      `${storeText(config)}: trimmed ${runs}; the log took ${size(before)}, and takes ${size(await store.size())}\n`,
    )
  } finally {
    await store.close()
  }
}
