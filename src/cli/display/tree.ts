/** Folds a run's events into a tree of open nodes and lines for finished ones. */
import type { Failure, LoggedEvent } from '../../core/model/event.ts'
import { actorKey } from '../../core/structure/actors.ts'
import { type ActorEntry, type Entry, isOpen, type StepEntry, type ToolEntry } from '../../core/structure/entries.ts'
import { type DiscardedAttempt, retractedFrom } from '../../core/structure/retraction.ts'
import { RunStructure } from '../../core/structure/run-structure.ts'
import { inOneLine } from '../terminal/text.ts'

export type Mark = 'started' | 'done' | 'failed' | 'skipped' | 'asked' | 'noted'

/** A permanent line. */
export interface Line {
  readonly depth: number
  readonly mark: Mark
  readonly text: string
  readonly detail?: string
  readonly tookMs?: number
}

/** A step, tool call or component in progress. */
export interface OpenNode {
  readonly entry: TreeEntry
  readonly parent: OpenNode | undefined
  readonly depth: number
  readonly text: string
  readonly since: number
  /** End of its text so far. */
  readonly tail: string
  /** Whether its start has been printed. */
  headed: boolean
}

type TreeEntry = ToolEntry | StepEntry | ActorEntry

/** Bounds the tree for agents that never end their tool calls; the oldest nodes are dropped. */
const OPEN_MAX = 500

export class RunTree {
  readonly #structure = new RunStructure({ kinds: ['tool', 'step', 'actor'], maxEntries: OPEN_MAX })
  /** By the index of the entry. */
  readonly #nodes = new Map<number, TreeNode>()

  /** Open nodes, children after their parents. */
  get open(): OpenNode[] {
    const nodes = new Set<OpenNode>(this.#nodes.values())
    const below = Map.groupBy(nodes, ({ parent: around }) => {
      let parent = around
      while (parent !== undefined && !nodes.has(parent)) parent = parent.parent
      return parent
    })
    const visit = (parent: OpenNode | undefined): OpenNode[] =>
      (below.get(parent) ?? []).flatMap((node) => [node, ...visit(node)])
    return visit(undefined)
  }

  apply(event: LoggedEvent): Line[] {
    const entry = this.#structure.apply(event) as TreeEntry | undefined
    switch (event.type) {
      case 'actor.started':
      case 'step.started':
      case 'tool.called':
        return this.#begin(entry)
      case 'actor.completed':
      case 'step.completed':
        return this.#end(event, entry, 'done')
      case 'tool.completed':
        return this.#end(event, entry, 'done', inOneLine(event.data.output))
      case 'actor.failed':
      case 'step.failed':
      case 'tool.failed':
        return this.#end(event, entry, 'failed', failureLine(event.data.error))
      case 'step.skipped':
        return this.#end(event, entry, 'skipped', inOneLine(event.data.reason ?? ''))
      case 'tool.progressed':
        this.#nodeOf(entry)?.show(inOneLine(event.data.output, TAIL_CHARS))
        return []
      case 'text.delta':
        this.#nodeOf(this.#structure.called(actorKey(event.actor)))?.say(event.index, event.data.text)
        return []
      case 'run.started':
        this.#drop()
        return noteOf(event)
      case 'attempt.discarded':
        return this.#retract(event)
      default:
        return noteOf(event)
    }
  }

  #begin(entry: TreeEntry | undefined): Line[] {
    if (entry === undefined || this.#nodes.has(entry.index)) return []
    if (this.#nodes.size >= OPEN_MAX) this.#nodes.delete(this.#nodes.keys().next().value!)
    this.#nodes.set(entry.index, new TreeNode(entry, this.#parentOf(entry)))
    return []
  }

  /** The innermost node around an entry. */
  #parentOf(entry: TreeEntry): TreeNode | undefined {
    return this.#nodeOf(this.#structure.around(entry))
  }

  #nodeOf(entry: Entry | undefined): TreeNode | undefined {
    return entry === undefined ? undefined : this.#nodes.get(entry.index)
  }

  #end(event: LoggedEvent, entry: TreeEntry | undefined, mark: Mark, detail = ''): Line[] {
    if (entry === undefined) return []
    const node = this.#nodes.get(entry.index)
    const parent = node === undefined ? this.#parentOf(entry) : node.parent
    this.#nodes.delete(entry.index)
    this.#structure.forget(entry.index)
    const { depth, text, since } = node ?? new TreeNode(entry, parent)
    const took = entry.index === event.index ? {} : { tookMs: Date.parse(event.time) - since }
    return [...headsOf(parent), { depth, mark, text, ...(detail !== '' && { detail }), ...took }]
  }

  #retract(event: DiscardedAttempt): Line[] {
    this.#drop()
    for (const node of this.#nodes.values()) node.retract(event)
    const { from, reason } = event.data
    return [{ depth: 0, mark: 'noted', text: `retracted: output since event ${from} (${inOneLine(reason)})` }]
  }

  /** Removes interrupted and retracted entries. How an interrupted call ended may still be decided by a person. */
  #drop(): void {
    for (const index of this.#nodes.keys()) {
      const entry = this.#structure.get(index)
      if (entry === undefined || !isOpen(entry)) this.#nodes.delete(index)
    }
  }
}

const TAIL_CHARS = 60

class TreeNode implements OpenNode {
  readonly entry: TreeEntry
  readonly parent: TreeNode | undefined
  readonly depth: number
  readonly text: string
  readonly since: number
  headed = false
  #pieces: { readonly index: number; readonly text: string }[] = []
  #printed = ''

  constructor(entry: TreeEntry, parent: TreeNode | undefined) {
    this.entry = entry
    this.parent = parent
    this.depth = parent === undefined ? 0 : parent.depth + 1
    this.text = inOneLine(titleOf(entry), 120)
    this.since = Date.parse(entry.time)
  }

  get tail(): string {
    const whole = this.#pieces.map(({ text }) => text).join('')
    return this.#printed === '' ? inOneLine(whole.slice(-TAIL_CHARS), TAIL_CHARS) : this.#printed
  }

  /** Only pieces that reach into the tail are kept. */
  say(index: number, text: string): void {
    this.#pieces.push({ index, text: text.slice(-TAIL_CHARS) })
    if (this.#pieces.length > TAIL_CHARS) this.#pieces = this.#pieces.slice(-TAIL_CHARS)
  }

  show(text: string): void {
    this.#printed = text
  }

  retract(event: DiscardedAttempt): void {
    const from = retractedFrom(event, this.entry.actor)
    this.#pieces = this.#pieces.filter(({ index }) => index < from)
  }
}

function titleOf(entry: TreeEntry): string {
  if (entry.kind === 'tool') return callLine(entry)
  const [name, kind] = entry.kind === 'step' ? [entry.name, entry.stepKind] : [entry.component, entry.componentKind]
  return kind === 'function' || kind === name ? name : `${name} (${kind})`
}

/** Start lines that were not printed yet, outermost first. */
function headsOf(node: OpenNode | undefined): Line[] {
  if (node === undefined || node.headed) return []
  const above = headsOf(node.parent)
  node.headed = true
  return [...above, { depth: node.depth, mark: 'started', text: node.text }]
}

function noteOf(event: LoggedEvent): Line[] {
  switch (event.type) {
    case 'run.started':
      return event.data.attempt === 1 ? [] : [noteLine(`started again, attempt ${event.data.attempt}`)]
    case 'run.released':
      return [noteLine(`handed over: ${inOneLine(event.data.reason)}`)]
    case 'run.paused':
      return event.data.questions.map(({ id, prompt }) => ({
        depth: 0,
        mark: 'asked',
        text: inOneLine(prompt, 500),
        detail: inOneLine(id, 300),
      }))
    case 'run.resumed':
      return [noteLine('answered')]
    case 'stop.requested':
      return [
        noteLine(
          event.data.reason === undefined ? 'stop requested' : `stop requested: ${inOneLine(event.data.reason)}`,
        ),
      ]
    case 'artifact.added':
      return event.data.append === true
        ? []
        : [
            noteLine(
              `artifact ${inOneLine(event.data.name ?? event.data.artifact)} (${inOneLine(event.data.mediaType)})`,
            ),
          ]
    case 'source.cited':
      return [noteLine(`source ${inOneLine(event.data.title ?? '')} ${inOneLine(event.data.url ?? '')}`.trimEnd())]
    default:
      return []
  }
}

function noteLine(text: string): Line {
  return { depth: 0, mark: 'noted', text }
}

function callLine({ name, input }: ToolEntry): string {
  const inputText = inOneLine(input ?? null, 60)
  return inputText === 'null' || inputText === '{}' ? name : `${name} ${inputText}`
}

function failureLine({ code, message }: Failure): string {
  return inOneLine(`${code}: ${message}`, 200)
}
