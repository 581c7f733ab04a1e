/** Conversation blocks of a run's structure. An unchanged entry gives the same block, so that only a changed one is rendered again. */
import { type Entry, piecesOf, type RunStructure, type StepEntry } from 'holdfast/structure'
import type { Block, NewBlock } from './blocks.ts'

/** Deeper steps are shown like these. */
const DEPTH_MAX = 5

export class ConversationBlocks {
  readonly #structure: RunStructure
  readonly #blocks = new WeakMap<Entry, Block>()

  constructor(structure: RunStructure) {
    this.#structure = structure
  }

  list(): readonly Block[] {
    return this.#structure.entries().flatMap((entry) => this.#blockOf(entry) ?? [])
  }

  #blockOf(entry: Entry): Block | undefined {
    const known = this.#blocks.get(entry)
    if (known !== undefined) return known
    const shown = this.#shown(entry)
    if (shown === undefined) return undefined
    const discarded = entry.retracted && shown.kind !== 'note'
    const block: Block = { ...shown, index: entry.index, actor: entry.actor, discarded }
    this.#blocks.set(entry, block)
    return block
  }

  #shown(entry: Entry): NewBlock | undefined {
    switch (entry.kind) {
      case 'text':
      case 'reasoning':
        return { kind: entry.kind, text: entry.text, open: entry.open }
      case 'tool':
        return { ...entry, startedAt: entry.time }
      case 'step': // the model's output is shown, and the timeline has the rest
        return entry.stepKind === 'model' ? undefined : { ...entry, parent: entry.step, depth: this.#depthOf(entry) }
      case 'actor':
        return { ...entry, kind: 'member', memberKind: entry.componentKind, within: entry.step }
      case 'artifact':
        return artifactBlock(entry)
      case 'source':
        return { kind: 'source', title: entry.title ?? entry.url ?? entry.source, url: entry.url }
      case 'state':
      case 'patch':
      case 'custom':
        return { kind: 'fact', name: entry.kind === 'patch' ? 'state changed' : entry.name, value: entry.value }
      case 'questions':
        return { kind: 'ask', questions: entry.questions, answers: entry.answers }
      case 'input':
      case 'end':
        return entry
      case 'model':
        return undefined
      default:
        return noteOf(entry)
    }
  }

  #depthOf({ step }: StepEntry): number {
    let depth = 0
    for (let around = this.#structure.get(step); around?.kind === 'step' && depth < DEPTH_MAX; depth++)
      around = this.#structure.get(around.step)
    return depth
  }
}

function artifactBlock(entry: Extract<Entry, { kind: 'artifact' }>): NewBlock {
  const pieces = piecesOf(entry)
  const first = pieces[0]!
  return {
    ...entry,
    text: pieces.map(({ text = '' }) => text).join(''),
    chunks: pieces.flatMap(({ bytes }) => (typeof bytes === 'string' ? [bytes] : [])),
    url: first.url,
    value: first.value,
  }
}

function noteOf(entry: Extract<Entry, { kind: 'attempt' | 'release' | 'stop' | 'retraction' }>): NewBlock | undefined {
  switch (entry.kind) {
    case 'attempt':
      return entry.number === 1 ? undefined : note(`Attempt ${entry.number} begins`)
    case 'release':
      return note(`The worker released the run (${entry.reason})`)
    case 'stop':
      return note(`Stop requested${entry.reason === undefined ? '' : `: ${entry.reason}`}`, 'warning')
    case 'retraction':
      return note(`Output from event ${entry.from} on was retracted: ${entry.reason}`, 'warning')
  }
}

function note(text: string, tone: 'plain' | 'warning' = 'plain'): NewBlock {
  return { kind: 'note', tone, text }
}
