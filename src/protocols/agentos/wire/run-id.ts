/** Run ids that clients choose: a name for the run in this protocol, for its owner only. */
import type { Run } from '../../../core/model/run.ts'

/** Run metadata of this protocol. */
export function ownMetadata(metadata: Run['metadata']): Readonly<Record<string, unknown>> {
  return (metadata?.['agentos'] ?? {}) as Readonly<Record<string, unknown>>
}

/** The id that the client chose, or the run's own. */
export function shownRunId({ id, metadata }: Pick<Run, 'id' | 'metadata'>): string {
  const { run_id: chosen } = ownMetadata(metadata)
  return typeof chosen === 'string' ? chosen : id
}
