/** `holdfast restore SRC`: puts a backup in place of a store. */
import { restoreStore } from '../../server/store-backup.ts'
import { defineCommand } from '../command.ts'
import { copyProgress } from '../copy-progress.ts'
import { DONE } from '../exit-codes.ts'
import { defaultStore, storeText, targetOptions } from '../target.ts'
import { size } from '../terminal/text.ts'

export const restore = defineCommand({
  operands: ['SRC'],
  about: `Copies the backup SRC into a SQLite store that no server uses, after it has verified every page. The store that was there is kept
beside the new one, under a name that ends with the time of the restore. SRC stays as it is.

Runs that were under way when the backup was made are recovered by the next server, as if their server had died then.`,
  examples: [{ line: 'holdfast restore backups/2026-11-17.db', does: 'into .holdfast/holdfast.db' }],
  options: { store: targetOptions.store },
  async run({ values, operands: [from] }, io) {
    const config = values.store ?? defaultStore(io.env)
    const { runs, bytes, replaced } = await restoreStore(config, from!, copyProgress(io))
    const before = replaced === undefined ? '' : `what was there before is ${replaced}\n`
    io.stdout.write(`${storeText(config)}: ${runs} runs, ${size(bytes)}, verified\n${before}`)
    return DONE
  },
})
