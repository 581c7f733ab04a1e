/** Backup and restore of SQLite stores. Shared stores use their database's own tools. */
import { HoldfastError } from '../../core/model/errors.ts'
import {
  backUp,
  type CopyProgress,
  type CopyReport,
  restore,
  type RestoreReport,
  vacuum,
} from '../../stores/sqlite/file/backup.ts'
import type { StoreConfig } from '../config/config-options.ts'

export type { CopyProgress, CopyReport, RestoreReport } from '../../stores/sqlite/file/backup.ts'

/** Writes a verified copy to a new file. The store may be in use. */
export function backUpStore(config: StoreConfig, to: string, progress: CopyProgress): Promise<CopyReport> {
  return backUp(fileOf(config, 'backed up'), to, progress)
}

/** Replaces a store with a backup. The store must not be in use. */
export function restoreStore(config: StoreConfig, from: string, progress: CopyProgress): Promise<RestoreReport> {
  return restore(from, fileOf(config, 'restored'), progress)
}

/** Returns free space in the store's file to the file system. */
export function vacuumStore(config: StoreConfig, progress: CopyProgress): CopyReport {
  return vacuum(fileOf(config, 'vacuumed'), progress)
}

function fileOf(config: StoreConfig, done: string): string {
  if (config.kind === 'sqlite') return config.path
  const own =
    config.kind === 'memory'
      ? 'it exists only in its server process'
      : 'use the tools of the database (docs/operations.md)'
  throw new HoldfastError('unsupported', `a ${config.kind} store cannot be ${done} by this command: ${own}`)
}
