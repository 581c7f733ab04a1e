/** Expected shapes of responses. */
import type { RunShape } from '../../../src/protocols/native/wire/shapes.ts'

export interface Problem {
  readonly code: string
  readonly title: string
  readonly detail: string
  readonly details?: Readonly<Record<string, unknown>>
}

export interface RunPage {
  readonly runs: readonly RunShape[]
  readonly cursor?: string
}

export interface EventPage {
  readonly events: readonly { readonly index: number; readonly type: string }[]
  readonly cursor: number
  readonly done: boolean
  readonly earliest?: number
}
