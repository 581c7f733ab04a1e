/** Links to a run and a position in it, so that a client can continue in another protocol. */
import type { SharedView } from '../core/delivery/shared-view.ts'
import type { StoredRun } from '../core/ports/store.ts'

export interface RunLink {
  /** The protocol's ids of the run and its session. */
  readonly id: string
  readonly session: string
  /** Path of the run, below the protocol's default path. */
  readonly path: string
  /** The request that resumes after a frame; undefined: from the beginning. */
  readonly resume: (frame: number | undefined) => ResumeRequest
  /** The view that numbers the protocol's frames. */
  readonly view: Pick<SharedView<unknown, unknown>, 'current' | 'frameAt' | 'cursorAt'>
}

export interface ResumeRequest {
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
}

/** A protocol whose links are loaded on first use. */
export interface LinkedProtocol {
  readonly protocol: string
  readonly link: (stored: StoredRun) => Promise<RunLink>
  /** Converts a path of the protocol to the path that clients see, below the mount point. */
  readonly place: (path: string) => string
}
