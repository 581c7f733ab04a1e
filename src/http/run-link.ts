/** How a protocol names a run and a position in it, so that a client can continue in another protocol. */
import type { SharedView } from '../core/delivery/shared-view.ts'
import type { StoredRun } from '../core/ports/store.ts'

export interface RunLink {
  /** What the protocol calls the run and its session. */
  readonly id: string
  readonly session: string
  /** Where the run is, below the protocol's default path. */
  readonly path: string
  /** The request for what follows a frame; undefined for all of it. */
  readonly resume: (frame: number | undefined) => ResumeRequest
  /** Its frames have numbers. */
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
  /** A path of the protocol as clients see it, below the mount point. */
  readonly place: (path: string) => string
}
