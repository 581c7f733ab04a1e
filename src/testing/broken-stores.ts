/** Stores that each break one rule, to prove that the conformance suite can fail. */
import { brokenDocumentListings } from './broken-stores/document-listing.ts'
import { brokenDocumentRecoveries, brokenDocuments } from './broken-stores/documents.ts'
import { brokenReads } from './broken-stores/foreign-reads.ts'
import { brokenLeases } from './broken-stores/leases.ts'
import { brokenLogs } from './broken-stores/log.ts'
import { brokenMoves } from './broken-stores/transfer.ts'
import type { BrokenStore } from './broken-stores/overriding.ts'
import { brokenRecoveries } from './broken-stores/recovery.ts'
import { brokenIndexes } from './broken-stores/runs.ts'
import { brokenSessionRecoveries, brokenSessions } from './broken-stores/sessions.ts'
import { brokenSignals } from './broken-stores/signals.ts'
import { brokenUsage } from './broken-stores/usage.ts'

export { type BrokenStore, BufferedWriter, commitTo, overriding } from './broken-stores/overriding.ts'

export const brokenStores: readonly BrokenStore[] = [
  ...brokenLogs,
  ...brokenReads,
  ...brokenIndexes,
  ...brokenLeases,
  ...brokenSignals,
  ...brokenDocuments,
  ...brokenDocumentListings,
  ...brokenSessions,
  ...brokenMoves,
  ...brokenUsage,
  ...brokenRecoveries,
  ...brokenDocumentRecoveries,
  ...brokenSessionRecoveries,
]
