/** Emitted text of an artifact. A text that is too long to be recorded is dropped; its checksum is enough. */
import { crc32 } from 'node:zlib'

/** As recorded, for the next message to the same task. */
export type TextMark = { readonly text: string } | { readonly chars: number; readonly checksum: number }

export class ArtifactText {
  #chars: number
  #checksum: number
  /** Undefined once forgotten. */
  #text: string | undefined

  constructor(mark: TextMark = { text: '' }) {
    this.#text = 'text' in mark ? mark.text : undefined
    this.#chars = 'text' in mark ? mark.text.length : mark.chars
    this.#checksum = 'text' in mark ? 0 : mark.checksum
  }

  get chars(): number {
    return this.#chars
  }

  /** Undefined once forgotten. */
  get text(): string | undefined {
    return this.#text
  }

  get mark(): TextMark {
    return this.#text === undefined ? { chars: this.#chars, checksum: this.#checksum } : { text: this.#text }
  }

  isStartOf(text: string): boolean {
    if (this.#text !== undefined) return text.startsWith(this.#text)
    return text.length >= this.#chars && checksumOf(text.slice(0, this.#chars)) === this.#checksum
  }

  append(more: string): void {
    this.#chars += more.length
    // Never sliced: that would copy everything for each piece, and each copy would live as long as the piece.
    if (this.#text === undefined) this.#checksum = checksumOf(more, this.#checksum)
    else this.#text += more
  }

  /** Keeps only length and checksum from now on. */
  forget(): void {
    if (this.#text === undefined) return
    this.#checksum = checksumOf(this.#text)
    this.#text = undefined
  }
}

/** By UTF-16 units, so that pieces may end within a surrogate pair. */
export function checksumOf(text: string, before = 0): number {
  return crc32(Buffer.from(text, 'utf16le'), before)
}
