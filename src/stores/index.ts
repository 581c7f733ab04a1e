/**
 * `holdfast/stores`: everything that an implementation of `Store` needs. The types of the interface, the rules that all stores share,
 * and the in-memory parts that our own stores are built from. Test a store with `storeConformance` of `holdfast/testing/stores`.
 */

// The interface.
export type {
  ClaimableQuery,
  ClaimOptions,
  CreateResult,
  Hint,
  HintListener,
  Lease,
  LeasedRun,
  LogDamage,
  LogWriter,
  NewRun,
  RunQuery,
  StopRequest,
  Store,
  StoreCapabilities,
  StoredRun,
  StoredRunPage,
  StoreHealth,
} from '../core/ports/store.ts'
export type { DocumentName, StoreTransfer, TransferredRun } from '../core/ports/store-transfer.ts'
export type { Run, RunStatus } from '../core/model/run.ts'
export type { OwnerUsage, SizedRun, StoredUsage } from '../core/model/storage-usage.ts'
export type {
  Document,
  DocumentDraft,
  DocumentPage,
  DocumentPosition,
  DocumentQuery,
  Documents,
} from '../core/model/document.ts'
export type { Logger } from '../core/ports/logger.ts'
export { type Clock, systemClock } from '../core/ports/clock.ts'

// Errors.
export { type ErrorCode, HoldfastError, isHoldfastError, runNotFound, storeUnavailable } from '../core/model/errors.ts'

// Runs and their logs.
export { assertReadable } from '../core/model/cursor.ts'
export { comesBefore, cursorOf, type Position, positionOf } from '../core/model/page.ts'
export { lastOf, type Slice, sliceAfter, sliceBefore, sliceOf, sliceWithin } from '../core/model/slice.ts'
export { isFinished } from '../core/model/run.ts'
export { Hints } from '../core/delivery/hints.ts'
export { FairOrder, type OrderedRun } from './shared/fair-order.ts'
export { ServedComponents } from './shared/served-components.ts'

// Documents and usage.
export { caseFolded, documentPosition, sessionDocument, SESSIONS } from '../core/model/document.ts'
export { type ListableDocument, type ListedPage, listDocuments } from './shared/document-listing.ts'
export { storedBytes } from '../core/model/storage-usage.ts'
export { OwnerTotals, type UsageChange } from './shared/owner-totals.ts'
