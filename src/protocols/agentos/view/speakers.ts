/** The speakers of a run, in start order. Persistent: changing the same speaker repeatedly does not copy the others. */
import type { Speaker } from './state.ts'

export class Speakers {
  readonly byRun: ReadonlyMap<string, Speaker>
  /** Overrides the entry of the map. */
  readonly changed: Speaker

  private constructor(byRun: ReadonlyMap<string, Speaker>, changed: Speaker) {
    this.byRun = byRun
    this.changed = changed
  }

  static of(root: Speaker): Speakers {
    return new Speakers(new Map([[root.run, root]]), root)
  }

  /** Adds a speaker, or replaces the one with the same run id. */
  with(speaker: Speaker): Speakers {
    const { run } = this.changed
    if (speaker.run === run) return new Speakers(this.byRun, speaker)
    const byRun = new Map(this.byRun).set(run, this.changed)
    return new Speakers(byRun.has(speaker.run) ? byRun : byRun.set(speaker.run, speaker), speaker)
  }

  has(run: string): boolean {
    return this.byRun.has(run)
  }

  get(run: string): Speaker | undefined {
    return run === this.changed.run ? this.changed : this.byRun.get(run)
  }

  values(): Speaker[] {
    return Array.from(this.byRun.values(), (speaker) => (speaker.run === this.changed.run ? this.changed : speaker))
  }
}
