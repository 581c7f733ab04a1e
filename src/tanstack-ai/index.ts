/** Resumable streams of TanStack AI: a `StreamDurability` on any Holdfast store. */
export {
  createStreamDurability,
  type CreateStreamDurabilityOptions,
  type StreamDurabilities,
  tanstackStreams,
} from './durability.ts'
export type { StreamSource } from './stream-source.ts'
export type { WrittenStreamsOptions } from '../written-stream/open-options.ts'
