/** `holdfast restore SRC`: replaces a store with a backup. */
import { restoreStore } from '../../server/store/store-backup.ts'
import { defineCommand } from '../command.ts'
import { reportDamage } from '../transfer/copied-damage.ts'
import { copyProgress } from '../transfer/copy-progress.ts'
import { defaultStore, storeText, targetOptions } from '../target/target.ts'
import { size } from '../terminal/text.ts'

export const restore = defineCommand({
  operands: ['SRC'],
  about: `Replaces a SQLite store with the backup SRC after verifying every page and checksum. No server may be using the store. The previous
store is kept beside the new one, with the time of the restore at the end of its name. SRC is not changed.

Runs that were running when the backup was made are recovered by the next server, as after a crash.`,
  examples: [{ command: 'holdfast restore backups/2026-11-17.db', description: 'into .holdfast/holdfast.db' }],
  options: { store: targetOptions.store },
  async run({ values, operands: [from] }, io) {
    const config = values.store ?? defaultStore(io.env)
    const { runs, bytes, replaced, damage } = await restoreStore(config, from!, copyProgress(io))
    const before = replaced === undefined ? '' : `the previous store is ${replaced}\n`
    io.stdout.write(
      `${storeText(config)}: ${runs} runs, ${size(bytes)}, ${damage.problemCount === 0 ? 'verified' : 'damaged'}\n${before}`,
    )
    return reportDamage(damage, io)
  },
})
