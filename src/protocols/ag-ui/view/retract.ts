/** Retracts output of a discarded attempt: clients replace their messages with the remaining ones. */
import { type DiscardedAttempt, retractedFrom, workRetractedFrom } from '../../../core/structure/retraction.ts'
import type { AgUiMessage } from '../wire/events.ts'
import type { AgentWriter } from './agent-writer.ts'
import { messagesOf } from './messages.ts'
import { lastOf, nodeBefore } from './piece-list.ts'
import { closeCalls } from './project-tools.ts'
import { closeStep } from './project-work.ts'
import type { AgentState, OpenCall, PieceNode } from './state.ts'

export function retract(writer: AgentWriter, event: DiscardedAttempt): void {
  const isRetracted: IsRetracted = (open) => open.log >= fromOf(event, open)
  closeRetracted(writer, event, isRetracted)
  const { pieces: before, state } = writer.state
  const { pieces, dropped } = withoutRetracted(before, event)
  if (pieces === before) return
  writer.set({ pieces, hasText: hasOwnText(pieces), spent: spentAfter(writer.state, dropped) })
  reopenCalls(writer, dropped)
  writer.show({ type: 'MESSAGES_SNAPSHOT', messages: [...messagesOf(pieces), ...emptied(dropped, pieces)] })
  const left = stateIn(pieces)
  if (left === state) return
  writer.set({ state: left })
  writer.show({ type: 'STATE_SNAPSHOT', snapshot: left ?? {} })
}

type IsRetracted = (piece: Pick<PieceNode, 'log' | 'actor' | 'recorded'>) => boolean

/** Text after a retraction starts a new message, so that a long text is not sent again with every delta. */
function closeRetracted(writer: AgentWriter, event: DiscardedAttempt, isRetracted: IsRetracted): void {
  for (const [actor] of writer.state.texts) if (retractedFrom(event, actor) < Infinity) writer.closeText(actor)
  closeCalls(writer, isRetracted)
  for (const [id, call] of writer.state.calls) if (isRetracted(call)) writer.put('calls', id, undefined)
  for (const [key, step] of writer.state.steps) if (isRetracted(step)) closeStep(writer, key)
}

/** An open subagent continues when its component is called again. */
function spentAfter({ spent, agents }: AgentState, dropped: readonly PieceNode[]): ReadonlySet<string> {
  const ended = dropped.flatMap(({ piece }) => (piece.kind === 'agent' && !agents.has(piece.id) ? [piece.id] : []))
  return ended.length === 0 ? spent : new Set([...spent, ...ended])
}

/** Clients keep their reasoning if a snapshot contains none at all, so retracted reasoning is sent with empty text. */
function emptied(dropped: readonly PieceNode[], newest: PieceNode | undefined): readonly AgUiMessage[] {
  const standing = new Set<string>()
  for (let node = newest; node !== undefined; node = node.previous)
    if (node.piece.kind === 'reasoning') standing.add(node.piece.id)
  if (standing.size > 0) return []
  const ids = new Set(dropped.flatMap(({ piece }) => (piece.kind === 'reasoning' ? [piece.id] : [])))
  return Array.from(ids, (id) => ({ id, role: 'reasoning', content: '' }))
}

/** The index from which a piece, or open work, is retracted. */
function fromOf(event: DiscardedAttempt, { actor, recorded }: Pick<PieceNode, 'actor' | 'recorded'>): number {
  return (recorded ? workRetractedFrom : retractedFrom)(event, actor)
}

/** Visits the pieces since `from`. A call whose result is kept stays. */
function withoutRetracted(
  newest: PieceNode | undefined,
  event: DiscardedAttempt,
): { readonly pieces: PieceNode | undefined; readonly dropped: readonly PieceNode[] } {
  const since: PieceNode[] = []
  let pieces = newest
  for (; pieces !== undefined && lastOf(pieces) >= event.data.from; pieces = pieces.previous) since.push(pieces)
  const needed = new Set(
    since.flatMap((node) => (node.piece.kind === 'result' && node.log < fromOf(event, node) ? [node.piece.call] : [])),
  )
  const dropped: PieceNode[] = []
  let isChanged = false
  for (const node of since.toReversed()) {
    const isNeeded = node.piece.kind === 'call' && needed.has(node.piece.id)
    const left = isNeeded ? node : nodeBefore(node, fromOf(event, node))
    isChanged ||= left !== node
    if (left === undefined) dropped.push(node)
    else pieces = { ...left, previous: pieces }
  }
  return isChanged ? { pieces, dropped } : { pieces: newest, dropped }
}

/** Reopens calls whose result is retracted but which are not retracted themselves. */
function reopenCalls(writer: AgentWriter, dropped: readonly PieceNode[]): void {
  const gone = new Set(dropped.flatMap(({ piece }) => (piece.kind === 'call' ? [piece.id] : [])))
  for (const { piece, actor, recorded } of dropped)
    if (piece.kind === 'result' && !gone.has(piece.call)) {
      const call = callIn(writer.state.pieces, piece.call)
      if (call !== undefined) writer.put('calls', piece.call, { ...call, actor, recorded })
    }
}

function callIn(newest: PieceNode | undefined, id: string): Omit<OpenCall, 'actor' | 'recorded'> | undefined {
  for (let node = newest; node !== undefined; node = node.previous)
    if (node.piece.kind === 'call' && node.piece.id === id)
      return { name: node.piece.name, isDrafted: false, args: '', log: node.log }
  return undefined
}

function hasOwnText(newest: PieceNode | undefined): boolean {
  for (let node = newest; node !== undefined; node = node.previous)
    if (node.piece.kind === 'text' && node.actor === '') return true
  return false
}

function stateIn(newest: PieceNode | undefined): unknown {
  for (let node = newest; node !== undefined; node = node.previous)
    if (node.piece.kind === 'state') return node.piece.state
  return undefined
}
