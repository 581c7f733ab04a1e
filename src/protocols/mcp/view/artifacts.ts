/** Artifacts of a run as content of a result. */
import type { EventData, LoggedEvent } from '../../../core/model/event.ts'
import { actorKey } from '../../../core/structure/actors.ts'
import { type DiscardedAttempt, retractedFrom } from '../../../core/structure/retraction.ts'

/** Chunks, newest first: a longer list shares the shorter one. */
export interface ArtifactChunks {
  readonly index: number
  readonly actor: string
  readonly chunk: EventData['artifact.added']
  readonly previous: ArtifactChunks | undefined
}

export function addChunk(
  chunks: ArtifactChunks | undefined,
  { index, actor, data }: Extract<LoggedEvent, { type: 'artifact.added' }>,
): ArtifactChunks {
  return { index, actor: actorKey(actor), chunk: data, previous: chunks }
}

/** Visits the chunks since the start of the retraction. */
export function retractChunks(chunks: ArtifactChunks | undefined, event: DiscardedAttempt): ArtifactChunks | undefined {
  const kept: ArtifactChunks[] = []
  let at = chunks
  for (; at !== undefined && at.index >= event.data.from; at = at.previous)
    if (at.index < retractedFrom(event, at.actor)) kept.push(at)
  return kept.toReversed().reduce((previous, chunk) => ({ ...chunk, previous }), at)
}

/** One content block per artifact, in order of their start. */
export function artifactContent(run: string, chunks: ArtifactChunks | undefined): object[] {
  const byName = new Map<string, EventData['artifact.added'][]>()
  const oldestFirst: ArtifactChunks[] = []
  for (let at = chunks; at !== undefined; at = at.previous) oldestFirst.push(at)
  for (const { actor, chunk } of oldestFirst.toReversed()) {
    const name = `${actor} ${chunk.artifact}`
    const known = byName.get(name)
    if (known !== undefined && chunk.append === true) known.push(chunk)
    else byName.set(name, [chunk])
  }
  return Array.from(byName.values(), (parts) => blockOf(run, parts))
}

function blockOf(run: string, parts: readonly EventData['artifact.added'][]): object {
  const [first] = parts
  const { artifact, mediaType, name = artifact, url, bytes } = first!
  if (url !== undefined) return { type: 'resource_link', uri: url, name, mimeType: mediaType }
  const uri = `holdfast://runs/${encodeURIComponent(run)}/artifacts/${encodeURIComponent(artifact)}`
  if (typeof bytes === 'string') {
    const data = joinBytes(parts)
    const kind = /^(image|audio)\//.exec(mediaType)?.[1]
    if (kind !== undefined) return { type: kind, data, mimeType: mediaType }
    return { type: 'resource', resource: { uri, mimeType: mediaType, blob: data } }
  }
  const text = parts.map((part) => part.text ?? (part.value === undefined ? '' : JSON.stringify(part.value))).join('')
  return { type: 'resource', resource: { uri, mimeType: mediaType, text } }
}

/** Each chunk is padded separately. */
function joinBytes(parts: readonly EventData['artifact.added'][]): string {
  const chunks = parts.map(({ bytes }) => Buffer.from(typeof bytes === 'string' ? bytes : '', 'base64'))
  return Buffer.concat(chunks).toString('base64')
}
