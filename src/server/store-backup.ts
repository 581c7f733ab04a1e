/** Backup and restore of a store that is a file; a shared store has the tools of its database for that. */
import { HoldfastError } from '../core/model/errors.ts'
import {
  backUp,
  type CopyProgress,
  type CopyReport,
  restore,
  type RestoreReport,
  vacuum,
} from '../stores/sqlite/backup.ts'
import type { StoreConfig } from './config-options.ts'

export type { CopyProgress, CopyReport, RestoreReport } from '../stores/sqlite/backup.ts'

/** Writes a verified copy of a store, which may be in use, to a new file. */
export function backUpStore(config: StoreConfig, to: string, progress: CopyProgress): Promise<CopyReport> {
  return backUp(fileOf(config, 'backed up'), to, progress)
}

/** Puts a backup in place of a store that nobody uses. */
export function restoreStore(config: StoreConfig, from: string, progress: CopyProgress): Promise<RestoreReport> {
  return restore(from, fileOf(config, 'restored'), progress)
}

/** Makes the file of a store as small as what it holds. */
export function vacuumStore(config: StoreConfig, progress: CopyProgress): CopyReport {
  return vacuum(fileOf(config, 'vacuumed'), progress)
}

function fileOf(config: StoreConfig, done: string): string {
  if (config.kind === 'sqlite') return config.path
  const own =
    config.kind === 'memory' ? 'it is only in its server' : 'use the tools of the database (docs/operations.md)'
  throw new HoldfastError('unsupported', `a ${config.kind} store is not ${done} by this command: ${own}`)
}
