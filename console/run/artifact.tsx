/** Artifacts: images are shown, everything else can be saved. */
import { useEffect, useState } from 'react'
import { bytes as size } from '../format.ts'
import { OuterLink } from '../markdown.tsx'
import { Value } from '../parts.tsx'
import type { ArtifactBlock } from './blocks.ts'

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']
const TEXT_CHARS_SHOWN = 20_000

export function ArtifactView({ block }: { readonly block: ArtifactBlock }) {
  const { name, artifact, mediaType, text, chunks, url, value, whole } = block
  const title = name ?? artifact
  const file = useBlobAddress(block)
  const length = chunks.length > 0 ? chunks.reduce((sum, chunk) => sum + (chunk.length * 3) / 4, 0) : text.length
  return (
    <>
      <p className="artifact-head">
        <span className="artifact-name">{title}</span>
        <span className="step-kind">{mediaType}</span>
        {length > 0 && <span className="step-kind">{size(Math.round(length))}</span>}
        {!whole && <span className="state">growing…</span>}
        {file !== undefined && (
          <a className="quiet" href={file} download={title.replaceAll(/[^\w.-]+/g, '_').slice(0, 100) || 'artifact'}>
            Save
          </a>
        )}
      </p>
      {file !== undefined && IMAGES.includes(mediaType) && <img className="artifact-image" src={file} alt={title} />}
      {text !== '' && <Value value={text.slice(0, TEXT_CHARS_SHOWN)} label={title} />}
      {value !== undefined && <Value value={value} label={title} />}
      {url !== undefined && (
        <p>
          <OuterLink href={url}>{url}</OuterLink>
        </p>
      )}
    </>
  )
}

/** Object URL of a complete artifact. Anything but an image is offered only as a download, without a type. */
function useBlobAddress({ chunks, text, mediaType, whole }: ArtifactBlock): string | undefined {
  const [address, setAddress] = useState<string>()
  useEffect(() => {
    if (!whole || (chunks.length === 0 && text === '')) return
    const type = IMAGES.includes(mediaType) ? mediaType : 'application/octet-stream'
    const parts = chunks.length > 0 ? chunks.map(fromBase64) : [text]
    const made = URL.createObjectURL(new Blob(parts as BlobPart[], { type }))
    setAddress(made)
    return () => URL.revokeObjectURL(made)
  }, [chunks, text, mediaType, whole])
  return address
}

function fromBase64(chunk: string): Uint8Array {
  try {
    return Uint8Array.from(atob(chunk), (character) => character.charCodeAt(0))
  } catch {
    return new Uint8Array()
  }
}
