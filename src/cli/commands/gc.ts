/** `holdfast gc`: trims finished runs now. */
import { existsSync } from 'node:fs'
import { systemClock } from '../../core/clock.ts'
import { HoldfastError } from '../../core/errors.ts'
import { defaultLimits } from '../../core/limits.ts'
import { silentLogger } from '../../core/logger.ts'
import { configOptions } from '../../server/config-options.ts'
import { openStore } from '../../server/open-store.ts'
import { Retention } from '../../server/retention.ts'
import { defineCommand } from '../command.ts'
import { DONE } from '../exit-codes.ts'
import { size } from '../terminal/text.ts'
import { defaultStore, storeText, targetOptions } from '../target.ts'

export const gc = defineCommand({
  operands: [],
  about: `Trims the events of finished runs that are older than --retain, and of the oldest ones while the log is larger than --retain-size. A
trimmed run is still listed, and keeps its last event: how it ended. Runs that are not over are never touched.

It opens the store itself: a file while no server uses it, a store that servers share at any time. A server does this by itself,
every minute, when it is started with the same options.`,
  examples: [{ line: 'holdfast gc --retain 30d --retain-size 10GB', does: 'what is older, or too much' }],
  options: {
    store: targetOptions.store,
    retain: configOptions.retain,
    'retain-size': configOptions['retain-size'],
  },
  async run({ values }, io) {
    const limits = { ...defaultLimits, retainMs: values.retain, retainBytesMax: values['retain-size'] }
    if (limits.retainMs === 0 && limits.retainBytesMax === 0)
      throw new HoldfastError('invalid_request', 'say what may go: --retain 30d, --retain-size 10GB, or both')
    const config = values.store ?? defaultStore(io.env)
    if (config.kind === 'sqlite' && !existsSync(config.path)) throw new Error(`there is no store ${config.path}`)
    const store = await openStore(config)
    try {
      const before = await store.size()
      let failure: { readonly reason: string } | undefined
      const logger = { ...silentLogger, warn: (fields: object) => (failure = fields as { reason: string }) }
      const retention = new Retention(store, limits, systemClock, logger)
      const trimmed = await retention.sweep()
      await retention.stop()
      if (failure !== undefined) throw new Error(failure.reason)
      const runs = trimmed === 1 ? '1 run' : `${trimmed} runs`
      io.stdout.write(
        `${storeText(config)}: trimmed ${runs}; the log took ${size(before)}, and takes ${size(await store.size())}\n`,
      )
      return DONE
    } finally {
      await store.close()
    }
  },
})
