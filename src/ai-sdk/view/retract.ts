/**
 * Retracts output of a discarded attempt. The client can take back the parts of its current step (`reset-step`). If earlier steps
 * are affected, its stream is cut and the message is replayed without them.
 */
import { type DiscardedAttempt, retractedFrom, workRetractedFrom } from '../../core/structure/retraction.ts'
import { type Chunk, toolCallOf } from '../chunks.ts'
import type { ChatWriter } from './chat-writer.ts'
import { addChunk, type ChunkList, chunksBefore, newestChunks, type StandingChunk } from './chunk-list.ts'
import type { WorkData } from './state.ts'

export function retract(writer: ChatWriter, event: DiscardedAttempt): void {
  const { dropped, chunks, isTextGone } = withoutRetracted(writer.state.chunks, event)
  if (dropped.length === 0) return
  if (isTextGone) writer.set({ text: undefined })
  writer.set({ chunks, textChars: writer.state.textChars - textIn(dropped) })
  const { leg } = writer.state.message
  const inMessage = dropped.filter(({ message }) => message === leg)
  reopenTools(writer, inMessage)
  reopenWork(writer, inMessage)
  if (inMessage.length === 0) return
  const isInStep = inMessage.every(({ step }) => step === writer.state.step)
  const restarts = writer.state.restarts + 1
  if (!isInStep) {
    writer.cut()
    writer.set({ restarts, message: { leg, restart: restarts } })
  }
  const { view } = writer
  if (isInStep) {
    writer.show({ type: 'reset-step' })
    for (const { chunk } of chunksOfStep(writer)) writer.show(chunk)
  } else if (view.restart === restarts && view.leg === leg) {
    writer.begin(newestChunks(writer.state.chunks, ({ message }) => message === leg))
  }
  // Later text is another part, so that a retraction does not change a long text each time.
  writer.closeText()
}

interface RetractionResult {
  readonly dropped: readonly StandingChunk[]
  readonly chunks: ChunkList | undefined
  /** The newest text is retracted as a whole. */
  readonly isTextGone: boolean
}

/** Visits the chunks since `from`. Keeps step boundaries, calls whose result is kept, and the end of a text whose beginning is kept. */
function withoutRetracted(newest: ChunkList | undefined, event: DiscardedAttempt): RetractionResult {
  const { from } = event.data
  const since = newestChunks(newest, ({ log }) => log >= from)
  const isConcerned = ({ log, actor, recorded, chunk }: StandingChunk): boolean =>
    !BOUNDARIES.has(chunk.type) && log >= (recorded ? workRetractedFrom : retractedFrom)(event, actor)
  const needed = new Set(since.flatMap((node) => (isConcerned(node) ? [] : (toolCallOf(node.chunk) ?? []))))
  let isTextGone = false
  const isRetracted = (node: StandingChunk): boolean => {
    const { chunk } = node
    if (chunk.type === 'text-end' || chunk.type === 'reasoning-end') return isTextGone
    const isGone = isConcerned(node)
    if (chunk.type === 'text-start' || chunk.type === 'reasoning-start') isTextGone = isGone
    return isGone && !(chunk.type === 'tool-input-available' && needed.has(chunk.toolCallId))
  }
  const dropped: StandingChunk[] = []
  let chunks = chunksBefore(newest, from)
  for (const node of since) {
    if (isRetracted(node)) dropped.push(node)
    else chunks = addChunk(chunks, node)
  }
  return { dropped, chunks: dropped.length === 0 ? newest : chunks, isTextGone }
}

const BOUNDARIES: ReadonlySet<Chunk['type']> = new Set(['start-step', 'finish-step'])

function textIn(nodes: readonly StandingChunk[]): number {
  return nodes.reduce((sum, { chunk }) => sum + (chunk.type === 'text-delta' ? chunk.delta.length : 0), 0)
}

/** Newest first: a call whose result is retracted is open again, unless it is retracted itself. */
function reopenTools(writer: ChatWriter, dropped: readonly StandingChunk[]): void {
  for (const { chunk, log, ends } of dropped.toReversed()) {
    const id = toolCallOf(chunk)
    if (id === undefined) continue
    if (ends !== undefined) writer.setTool(id, ends)
    const tool = writer.state.tools.get(id)
    if (tool?.createdAt === log && chunk.type.startsWith('tool-input-')) writer.setTool(id, undefined)
    else if (tool?.calledAt === log && chunk.type === 'tool-input-available') {
      const { calledAt: _calledAt, ...rest } = tool
      writer.setTool(id, { ...rest, state: 'drafting' })
    }
  }
}

/** Newest first: work whose end is retracted but whose start is not is open again. */
function reopenWork(writer: ChatWriter, dropped: readonly StandingChunk[]): void {
  for (const { chunk, step } of dropped.toReversed()) {
    if (!('data' in chunk) || chunk.id === undefined || !WORK.has(chunk.type)) continue
    const { error: _error, reason: _reason, ...data } = chunk.data as WorkData
    writer.setWork(chunk.id, data.state === 'running' ? undefined : { step, data: { ...data, state: 'running' } })
  }
}

/** Data parts that have an end. */
const WORK: ReadonlySet<string> = new Set(['data-step', 'data-actor'])

function chunksOfStep({ state }: ChatWriter): readonly StandingChunk[] {
  return newestChunks(state.chunks, ({ chunk, step }) => chunk.type !== 'start-step' || step !== state.step)
}
