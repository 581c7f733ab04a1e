/** Folds a run's events into a tree of open nodes and lines for finished ones. */
import type { Failure, LoggedEvent } from '../../core/model/event.ts'
import { actorKey } from '../../core/structure/actors.ts'
import { inOneLine } from '../terminal/text.ts'

export type Mark = 'begun' | 'done' | 'failed' | 'skipped' | 'asked' | 'noted'

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
  readonly key: string
  readonly parent: OpenNode | undefined
  readonly depth: number
  readonly text: string
  readonly since: number
  /** End of its text so far. */
  tail: string
  /** Whether its start has been printed. */
  headed: boolean
  /** For a step: the component that executes it. */
  readonly component: string | undefined
}

/** Bounds the tree for agents that never end their tool calls; the oldest nodes are dropped. */
const OPEN_MAX = 500
const TAIL_CHARS = 60

export class RunTree {
  readonly #open = new Map<string, OpenNode>()

  /** Open nodes, children after their parents. */
  get open(): OpenNode[] {
    const below = Map.groupBy(this.#open.values(), ({ parent }) => parent)
    const visit = (parent: OpenNode | undefined): OpenNode[] =>
      (below.get(parent) ?? []).flatMap((node) => [node, ...visit(node)])
    return visit(undefined)
  }

  apply(event: LoggedEvent): Line[] {
    const { data } = event
    switch (event.type) {
      case 'actor.started':
        return this.#begin(event, this.#actorKey(event), event.actor?.component ?? 'component', event.actor?.kind)
      case 'actor.completed':
        return this.#end(event, this.#actorKey(event), { mark: 'done', text: event.actor?.component ?? 'component' })
      case 'actor.failed':
        return this.#end(event, this.#actorKey(event), {
          mark: 'failed',
          text: event.actor?.component ?? 'component',
          detail: failureLine(event.data.error),
        })
      case 'step.started':
        return this.#begin(event, keyOf('step', event, event.data.step), event.data.name, event.data.kind)
      case 'step.completed':
        return this.#end(event, keyOf('step', event, event.data.step), { mark: 'done', text: event.data.name })
      case 'step.failed':
        return this.#end(event, keyOf('step', event, event.data.step), {
          mark: 'failed',
          text: event.data.name,
          detail: failureLine(event.data.error),
        })
      case 'step.skipped':
        return this.#end(event, keyOf('step', event, event.data.step), {
          mark: 'skipped',
          text: event.data.name,
          detail: inOneLine(event.data.reason ?? ''),
        })
      case 'tool.called':
        return this.#begin(event, keyOf('tool', event, event.data.call), callLine(event.data))
      case 'tool.progressed':
        return this.#said(keyOf('tool', event, event.data.call), inOneLine(event.data.output, TAIL_CHARS), false)
      case 'tool.completed':
        return this.#end(event, keyOf('tool', event, event.data.call), {
          mark: 'done',
          text: event.data.name,
          detail: inOneLine(event.data.output),
        })
      case 'tool.failed':
        return this.#end(event, keyOf('tool', event, event.data.call), {
          mark: 'failed',
          text: event.data.name,
          detail: failureLine(event.data.error),
        })
      case 'text.delta':
        return event.actor === undefined ? [] : this.#said(this.#actorKey(event), event.data.text, true)
      case 'attempt.discarded':
        return this.#withdrawn(event.data)
      default:
        return noteOf({ ...event, data } as LoggedEvent)
    }
  }

  #actorKey({ actor }: LoggedEvent): string {
    return `actor ${actorKey(actor)}`
  }

  #begin(event: LoggedEvent, key: string, text: string, kind?: string): Line[] {
    if (this.#open.has(key)) return [] // restarted after a crash
    if (this.#open.size >= OPEN_MAX) this.#open.delete(this.#open.keys().next().value!)
    const parent = this.#parentOf(event)
    const details = (event.type === 'step.started' ? event.data.details : undefined) as
      | { component?: string }
      | undefined
    this.#open.set(key, {
      key,
      parent,
      depth: parent === undefined ? 0 : parent.depth + 1,
      text: inOneLine(kind === undefined || kind === 'function' || kind === text ? text : `${text} (${kind})`, 120),
      since: Date.parse(event.time),
      tail: '',
      headed: false,
      component: details?.component,
    })
    return []
  }

  /** The parent of a component is the step that it executes; of a step or call, the innermost open step around it. */
  #parentOf(event: LoggedEvent): OpenNode | undefined {
    const { actor } = event
    const isActor = event.type === 'actor.started'
    const within = isActor ? (actor?.parent === event.run ? '' : (actor?.parent ?? '')) : actorKey(actor)
    const stated = event.type === 'step.started' ? event.data.parent : undefined
    if (stated !== undefined) {
      const around = this.#open.get(`step ${within} ${stated}`)
      if (around !== undefined) return around
    }
    const steps = [...this.#open.values()].filter(({ key }) => key.startsWith(`step ${within} `))
    const mine = isActor ? steps.findLast(({ component }) => component === actor?.component) : undefined
    const around = event.type === 'step.started' && stated === undefined ? undefined : steps.at(-1)
    return mine ?? around ?? this.#open.get(`actor ${within}`)
  }

  #said(key: string, text: string, goesOn: boolean): Line[] {
    const node = this.#open.get(key)
    if (node !== undefined) node.tail = inOneLine((goesOn ? node.tail + text : text).slice(-TAIL_CHARS), TAIL_CHARS)
    return []
  }

  #end(event: LoggedEvent, key: string, end: Pick<Line, 'mark' | 'text' | 'detail'>): Line[] {
    const node = this.#open.get(key)
    this.#open.delete(key)
    const parent = node === undefined ? this.#parentOf(event) : node.parent
    const line: Line = {
      depth: node?.depth ?? (parent === undefined ? 0 : parent.depth + 1),
      mark: end.mark,
      text: node?.text ?? inOneLine(end.text, 120),
      ...(end.detail !== undefined && end.detail !== '' && { detail: end.detail }),
      ...(node !== undefined && { tookMs: Date.parse(event.time) - node.since }),
    }
    return [...headsOf(parent), line]
  }

  #withdrawn({ scope, ledger, reason, from }: Extract<LoggedEvent, { type: 'attempt.discarded' }>['data']): Line[] {
    if (scope === 'all' && ledger === 'dropped') this.#open.clear()
    return [{ depth: 0, mark: 'noted', text: `retracted: output since event ${from} (${inOneLine(reason)})` }]
  }
}

function keyOf(kind: string, { actor }: LoggedEvent, id: string): string {
  return `${kind} ${actorKey(actor)} ${id}`
}

/** Start lines that were not printed yet, outermost first. */
function headsOf(node: OpenNode | undefined): Line[] {
  if (node === undefined || node.headed) return []
  const above = headsOf(node.parent)
  node.headed = true
  return [...above, { depth: node.depth, mark: 'begun', text: node.text }]
}

function noteOf(event: LoggedEvent): Line[] {
  switch (event.type) {
    case 'run.started':
      return event.data.attempt === 1 ? [] : [noted(`started again, attempt ${event.data.attempt}`)]
    case 'run.released':
      return [noted(`handed over: ${inOneLine(event.data.reason)}`)]
    case 'run.paused':
      return event.data.questions.map(({ id, prompt }) => ({
        depth: 0,
        mark: 'asked',
        text: inOneLine(prompt, 500),
        detail: inOneLine(id, 300),
      }))
    case 'run.resumed':
      return [noted('answered')]
    case 'stop.requested':
      return [
        noted(event.data.reason === undefined ? 'stop requested' : `stop requested: ${inOneLine(event.data.reason)}`),
      ]
    case 'artifact.added':
      return event.data.append === true
        ? []
        : [noted(`artifact ${inOneLine(event.data.name ?? event.data.artifact)} (${inOneLine(event.data.mediaType)})`)]
    case 'source.cited':
      return [noted(`source ${inOneLine(event.data.title ?? '')} ${inOneLine(event.data.url ?? '')}`.trimEnd())]
    default:
      return []
  }
}

function noted(text: string): Line {
  return { depth: 0, mark: 'noted', text }
}

function callLine({ name, input }: { readonly name: string; readonly input: unknown }): string {
  const given = inOneLine(input ?? null, 60)
  return given === 'null' || given === '{}' ? name : `${name} ${given}`
}

function failureLine({ code, message }: Failure): string {
  return inOneLine(`${code}: ${message}`, 200)
}
