/**
 * Folds the artifacts of a task: one per message of an actor, and one per named artifact. A chunk takes constant time, and retracted
 * output is found at the end.
 */
import type { Actor, EventData, LoggedEvent } from '../../../core/model/event.ts'
import type { TextStretch } from '../../../core/ports/projection.ts'
import { actorKey } from '../../../core/structure/actors.ts'
import { type DiscardedAttempt, retractedFrom } from '../../../core/structure/retraction.ts'
import {
  addPiece,
  addPieces,
  piecesOf,
  retractPieces,
  textFrom,
  type TextPieces,
} from '../../../core/structure/text-pieces.ts'
import type { Artifact, Part } from '../wire/wire.ts'

/** Newest first. */
interface Piece {
  readonly index: number
  readonly part: Part
  readonly previous: Piece | undefined
}

export interface ArtifactFold {
  readonly id: string
  readonly actor: Actor | undefined
  readonly name: string | undefined
  /** An agent's streamed text. */
  readonly isText: boolean
  /** Its last chunk was sent. */
  readonly closed: boolean
  /** Its content, if all of it is plain text. */
  readonly plainText: TextPieces | undefined
  /** Its content, if not. */
  readonly pieces: Piece | undefined
  /** The upstream's own fields, without its parts. */
  readonly received?: Omit<Artifact, 'parts'>
}

export interface Artifacts {
  readonly newest: ArtifactFold
  readonly older: Artifacts | undefined
}

/** An update for subscribers, who already have the rest of the artifact. */
export interface Chunk {
  readonly artifact: Artifact
  readonly append: boolean
  readonly last: boolean
}

export interface ArtifactChange {
  readonly artifacts: Artifacts | undefined
  readonly chunks: readonly Chunk[]
}

type TextDelta = Extract<LoggedEvent, { type: 'text.delta' }>
type TextCompleted = Extract<LoggedEvent, { type: 'text.completed' }>
type ArtifactAdded = Extract<LoggedEvent, { type: 'artifact.added' }>

export function addText(artifacts: Artifacts | undefined, { data, actor, index }: TextDelta): ArtifactChange {
  if (data.text === '') return { artifacts, chunks: [] }
  const id = textArtifactId(actor, data.message)
  const target: ArtifactFold = { id, actor, name: actor?.component, isText: true, ...EMPTY }
  return add(artifacts, target, { index, part: { text: data.text } }, false)
}

/** Adds texts of the run's own component if they continue the newest artifact. Each is one chunk. */
export function continueText(
  artifacts: Artifacts | undefined,
  { first, texts, message }: TextStretch,
): Artifacts | undefined {
  const newest = artifacts?.newest
  if (newest?.id !== textArtifactId(undefined, message) || !newest.isText || newest.plainText === undefined)
    return undefined
  return {
    newest: { ...newest, closed: false, plainText: addPieces(newest.plainText, first, texts) },
    older: artifacts?.older,
  }
}

/** The chunk by which a text continues an artifact. */
export function textChunk(artifact: ArtifactFold, text: string): Chunk {
  return { artifact: { ...head(artifact), parts: [{ text }] }, append: true, last: false }
}

const EMPTY = { closed: false, plainText: undefined, pieces: undefined } as const

/** `answer` for an agent with a single message. */
function textArtifactId(actor: Actor | undefined, message: string | undefined): string {
  return [...(actor === undefined ? [] : [actor.run]), message === undefined ? 'answer' : `answer-${message}`].join('/')
}

export function endMessage(artifacts: Artifacts | undefined, { data, actor }: TextCompleted): ArtifactChange {
  const id = textArtifactId(actor, data.message)
  const open = find(artifacts, id)
  if (open === undefined || open.closed) return { artifacts, chunks: [] }
  return { artifacts: replace(artifacts, { ...open, closed: true }), chunks: [lastChunk(open)] }
}

export function addArtifact(artifacts: Artifacts | undefined, { data, actor, index }: ArtifactAdded): ArtifactChange {
  const { artifact, name, append = false, last = false } = data
  const id = actor === undefined ? artifact : `${actor.run}/${artifact}`
  const known = append ? find(artifacts, id) : undefined
  const target: ArtifactFold = known ?? { id, actor, name, isText: false, ...EMPTY }
  return add(artifacts, target, { index, part: partOf(data) }, last)
}

/** An upstream's artifact, or a chunk of it. */
export function addReceived(
  artifacts: Artifacts | undefined,
  { parts, ...fields }: Artifact,
  append: boolean,
  index: number,
): Artifacts | undefined {
  const known = find(artifacts, fields.artifactId)
  const before = append ? known : undefined
  let content: Content = { plainText: before?.plainText, pieces: before?.pieces }
  for (const part of parts) content = contentWith(content, index, part)
  const received = { ...before?.received, ...fields }
  const artifact: ArtifactFold = {
    ...EMPTY,
    id: fields.artifactId,
    actor: undefined,
    name: fields.name,
    isText: false,
    received,
    ...content,
  }
  return known === undefined ? { newest: artifact, older: artifacts } : replace(artifacts, artifact)
}

/** Whether an upstream's artifact is already known unchanged. */
export function hasReceived(artifacts: Artifacts | undefined, artifact: Artifact): boolean {
  const known = find(artifacts, artifact.artifactId)
  const as = addReceived(undefined, artifact, false, 0)!.newest
  return known !== undefined && JSON.stringify(toArtifact(known)) === JSON.stringify(toArtifact(as))
}

function partOf({ text, bytes, url, value, mediaType, name }: EventData['artifact.added']): Part {
  const about = { mediaType, ...(name !== undefined && { filename: name }) }
  if (typeof bytes === 'string') return { raw: bytes, ...about }
  if (url !== undefined) return { url, ...about }
  if (text !== undefined) return mediaType === 'text/plain' && name === undefined ? { text } : { text, ...about }
  return { data: value ?? null, mediaType }
}

/** The run's output, unless it was streamed already. */
export function addOutput(artifacts: Artifacts | undefined, output: unknown, index: number): ArtifactChange {
  if (output === undefined || output === null || output === '' || isInText(artifacts, output))
    return { artifacts, chunks: [] }
  const part: Part = typeof output === 'string' ? { text: output } : { data: output }
  const target: ArtifactFold = { id: 'output', actor: undefined, name: 'output', isText: false, ...EMPTY }
  return add(artifacts, target, { index, part }, true)
}

function isInText(artifacts: Artifacts | undefined, output: unknown): boolean {
  if (typeof output !== 'string') return false
  const own: string[] = []
  for (const artifact of each(artifacts)) {
    if (!artifact.isText) continue
    const text = textOf(artifact)
    if (text === output) return true
    if (artifact.actor === undefined) own.unshift(text)
  }
  return own.join('') === output
}

/** Closes all streamed artifacts. */
export function endAll(artifacts: Artifacts | undefined): ArtifactChange {
  const open = [...each(artifacts)].filter(({ isText, closed }) => isText && !closed).toReversed()
  let changed = artifacts
  for (const artifact of open) changed = replace(changed, { ...artifact, closed: true })
  return { artifacts: changed, chunks: open.map(lastChunk) }
}

/** Retracts output since an index: the remainder of each artifact replaces it. */
export function retract(artifacts: Artifacts | undefined, event: DiscardedAttempt): ArtifactChange {
  let changed = artifacts
  const chunks: Chunk[] = []
  for (const artifact of [...each(artifacts)].toReversed()) {
    const from = retractedFrom(event, actorKey(artifact.actor))
    let { pieces } = artifact
    const { index } = artifact.plainText ?? pieces ?? { index: -1 }
    if (index < from) continue
    while (pieces !== undefined && pieces.index >= from) pieces = pieces.previous
    const left: ArtifactFold = {
      ...artifact,
      plainText: retractPieces(artifact.plainText, from),
      pieces,
      closed: false,
    }
    changed = replace(changed, left)
    chunks.push({ artifact: toArtifact(left), append: false, last: false })
  }
  return { artifacts: changed, chunks }
}

export function toArtifacts(artifacts: Artifacts | undefined): Artifact[] {
  return [...each(artifacts)].map(toArtifact).toReversed()
}

function add(
  artifacts: Artifacts | undefined,
  target: ArtifactFold,
  { index, part }: Omit<Piece, 'previous'>,
  last: boolean,
): ArtifactChange {
  const known = isEmpty(target) ? find(artifacts, target.id) : target
  // Without `append`, an artifact of the same name replaces it.
  const before = target.isText ? known : isEmpty(target) ? undefined : target
  const artifact: ArtifactFold = { ...target, closed: last, ...contentWith(before, index, part) }
  const append = before !== undefined && !isEmpty(before)
  const chunk = { artifact: { ...head(artifact), parts: [part] }, append, last }
  return {
    artifacts: known === undefined ? { newest: artifact, older: artifacts } : replace(artifacts, artifact),
    chunks: [chunk],
  }
}

type Content = Pick<ArtifactFold, 'plainText' | 'pieces'>

function isEmpty({ plainText, pieces }: Content): boolean {
  return plainText === undefined && pieces === undefined
}

function contentWith(before: Content | undefined, index: number, part: Part): Content {
  if (isBareText(part) && before?.pieces === undefined)
    return { plainText: addPiece(before?.plainText, index, part.text), pieces: undefined }
  return { plainText: undefined, pieces: { index, part, previous: before && allPieces(before) } }
}

function allPieces({ plainText, pieces }: Content): Piece | undefined {
  let all = pieces
  for (const { index, text } of piecesOf(plainText)) all = { index, part: { text }, previous: all }
  return all
}

/** A chunk needs a part, so the last-chunk marker has an empty text. */
function lastChunk(artifact: ArtifactFold): Chunk {
  return { artifact: { ...head(artifact), parts: [{ text: '' }] }, append: true, last: true }
}

function head({ id, name, actor, received }: ArtifactFold): Omit<Artifact, 'parts'> {
  if (received !== undefined) return received
  const by = actor === undefined ? undefined : { component: actor.component, run: actor.run }
  return { artifactId: id, ...(name !== undefined && { name }), ...(by !== undefined && { metadata: { actor: by } }) }
}

/** Merges adjacent texts into one part, so that a task does not grow with the number of chunks. */
function toArtifact(artifact: ArtifactFold): Artifact {
  const parts: Part[] = []
  let texts: string[] = []
  const flush = (): void => {
    if (texts.length > 0) parts.push({ text: texts.join('') })
    texts = []
  }
  for (const part of partsOf(artifact)) {
    if (isBareText(part)) {
      texts.push(part.text)
      continue
    }
    flush()
    parts.push(part)
  }
  flush()
  return { ...head(artifact), parts: parts.length > 0 ? parts : [{ text: '' }] }
}

function isBareText(part: Part): part is { readonly text: string } {
  if (part.text === undefined) return false
  for (const name in part) if (name !== 'text') return false
  return true
}

function partsOf({ plainText, pieces }: ArtifactFold): Part[] {
  if (plainText !== undefined) return [{ text: textFrom(plainText) }]
  const parts: Part[] = []
  for (let piece = pieces; piece !== undefined; piece = piece.previous) parts.push(piece.part)
  return parts.toReversed()
}

function textOf(artifact: ArtifactFold): string {
  return partsOf(artifact)
    .map(({ text = '' }) => text)
    .join('')
}

/** Newest first. */
function* each(artifacts: Artifacts | undefined): Generator<ArtifactFold> {
  for (let at = artifacts; at !== undefined; at = at.older) yield at.newest
}

function find(artifacts: Artifacts | undefined, id: string): ArtifactFold | undefined {
  for (const artifact of each(artifacts)) if (artifact.id === id) return artifact
  return undefined
}

/** Replaces in position; relinks the newer ones. */
function replace(artifacts: Artifacts | undefined, artifact: ArtifactFold): Artifacts | undefined {
  const newer: ArtifactFold[] = []
  let at = artifacts
  for (; at !== undefined && at.newest.id !== artifact.id; at = at.older) newer.push(at.newest)
  let changed: Artifacts = { newest: artifact, older: at?.older }
  for (const other of newer.toReversed()) changed = { newest: other, older: changed }
  return changed
}
