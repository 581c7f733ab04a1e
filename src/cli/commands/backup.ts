/** `holdfast backup DEST`: writes a verified copy of a store, even while it is in use. */
import { backUpStore } from '../../server/store/store-backup.ts'
import { defineCommand } from '../command.ts'
import { reportDamage } from '../transfer/copied-damage.ts'
import { copyProgress } from '../transfer/copy-progress.ts'
import { defaultStore, storeText, targetOptions } from '../target/target.ts'
import { size } from '../terminal/text.ts'

export const backup = defineCommand({
  operands: ['DEST'],
  about: `Writes a copy of a SQLite store to the new file DEST, even while a server uses the store. The copy is a snapshot: it has
everything that was acknowledged before the command started. Every page and checksum is verified before the file appears under
its name. If single runs of the store are damaged, the copy has them and all others; the damage is listed, and the exit code is 1.

The server keeps running, and its write-ahead log grows until the backup is done.`,
  examples: [
    { command: 'holdfast backup backups/2026-11-17.db', description: 'of .holdfast/holdfast.db' },
    {
      command: 'holdfast backup /mnt/backup/runs.db --store sqlite:/var/lib/holdfast/runs.db',
      description: 'of another store',
    },
  ],
  options: { store: targetOptions.store },
  async run({ values, operands: [to] }, io) {
    const config = values.store ?? defaultStore(io.env)
    const { runs, bytes, damage } = await backUpStore(config, to!, copyProgress(io))
    io.stdout.write(
      `${to}: ${runs} runs of ${storeText(config)}, ${size(bytes)}, ${damage.problemCount === 0 ? 'verified' : 'damaged'}\n`,
    )
    return reportDamage(damage, io)
  },
})
