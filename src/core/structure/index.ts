/** `holdfast/structure`: folds a run's events into its structure, with retractions resolved. For servers and browsers. */
export {
  type ActorEntry,
  type ArtifactEntry,
  type ArtifactPiece,
  type AttemptEntry,
  type EndEntry,
  type Entry,
  type EntryFacts,
  type FactEntry,
  type InputEntry,
  isOpen,
  isWork,
  type ModelEntry,
  type NoticeEntry,
  piecesOf,
  type QuestionsEntry,
  type RetractionEntry,
  type SourceEntry,
  type StepEntry,
  type ToolEntry,
  type WorkEntry,
  type WorkFacts,
  type WorkState,
} from './entries.ts'
export type { RunLifecycle } from './lifecycle.ts'
export { RunStructure, type StructureOptions } from './run-structure.ts'
export type { SavedArtifact, SavedEntry, SavedStructure, SavedText, SavedUsage } from './saved-structure.ts'
export type { TextEntry } from './texts.ts'
export type { ModelUsage, UsageFold } from './usage.ts'
