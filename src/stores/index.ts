/** `holdfast/stores`: for authors of stores. The types of the `Store` interface, and the building blocks of Holdfast's own stores. */
export { Hints } from '../core/delivery/hints.ts'
export { assertReadable } from '../core/model/cursor.ts'
export { HoldfastError, storeUnavailable } from '../core/model/errors.ts'
export { comesBefore, cursorOf, type Position, positionOf } from '../core/model/page.ts'
export { lastOf, type Slice, sliceAfter, sliceBefore, sliceOf, sliceWithin } from '../core/model/record.ts'
export { isFinished } from '../core/model/run.ts'
export { type Clock, systemClock } from '../core/ports/clock.ts'
export type {
  ClaimableQuery,
  ClaimOptions,
  CreateResult,
  LeasedRun,
  Hint,
  HintListener,
  Lease,
  LogDamage,
  LogWriter,
  NewRun,
  StoredRunPage,
  RunQuery,
  StopRequest,
  Store,
  StoreCapabilities,
  StoredRun,
  StoreHealth,
} from '../core/ports/store.ts'
export type { DocumentName, StoreTransfer, TransferredRun } from '../core/ports/store-transfer.ts'
