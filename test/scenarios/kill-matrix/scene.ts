/** Instrumentation of the matrix components: records each side effect on disk, and waits at the point where the process is killed. */
import { appendFileSync } from 'node:fs'

/** Points at which a component may wait. */
export type Phase =
  /** Before the first token. */
  | 'start'
  | 'text'
  /** Inside a step; it is done again. */
  | 'step'
  | 'between'
  /** Inside a tool that may be repeated. */
  | 'tool'
  /** Inside one that may not. */
  | 'uncertain'
  | 'parallel'
  | 'paused'
  /** Between two members of a team, or two steps of a workflow. */
  | 'handover'
  /** Two concurrent members, one of which has finished. */
  | 'members'
  /** During the leader's output. */
  | 'answer'
  | 'block'
  | 'loop'
  | 'condition'
  | 'router'
  | 'confirm'

/** A line of the journal. `life`: which start of the server it was. */
export type Note =
  | { readonly component: string; readonly life: number; readonly did: string; readonly key?: string }
  /** `cut`: the work that is cut off by a kill here. */
  | { readonly component: string; readonly life: number; readonly holdsIn: Phase; readonly cut: readonly string[] }

export interface SceneOptions {
  readonly component: string
  readonly phase: Phase | undefined
  /** Lives of the server that end in that phase. */
  readonly kills: number
}

/** The server's environment. */
export const JOURNAL = 'HOLDFAST_TEST_JOURNAL'
export const LIFE = 'HOLDFAST_TEST_LIFE'

export class Scene {
  readonly #options: SceneOptions

  constructor(options: SceneOptions) {
    this.#options = options
  }

  /** A piece of work with a side effect; with a phase, one that can be cut off after it. */
  work(name: string, phase?: Phase): (call?: unknown) => Promise<string> {
    return async (call) => {
      this.did(name, (call as { key?: string } | undefined)?.key)
      if (phase !== undefined) await this.hold(phase, name)
      return `${name} done`
    }
  }

  did(name: string, key?: string): void {
    this.#note({ did: name, ...(key !== undefined && { key }) })
  }

  /** Reports that the phase is reached and waits to be killed; continues if the kill is over or happens elsewhere. */
  async hold(phase: Phase, ...cut: readonly string[]): Promise<void> {
    if (phase !== this.#options.phase || life() > this.#options.kills) return
    this.#note({ holdsIn: phase, cut })
    await new Promise<never>(() => {})
  }

  #note(note: object): void {
    const line = `${JSON.stringify({ component: this.#options.component, life: life(), ...note })}\n`
    appendFileSync(process.env[JOURNAL]!, line) // one write at the end of the file: what was done before a kill is in it
  }
}

function life(): number {
  return Number(process.env[LIFE])
}
