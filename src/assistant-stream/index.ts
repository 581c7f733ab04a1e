/** Resumable streams of assistant-ui without Redis: a `ResumableStreamStore` for `assistant-stream`. */
export {
  assistantStreams,
  createResumableStreamStore,
  type CreateResumableStreamStoreOptions,
  type DurableResumableStreamStore,
} from './store.ts'
export type { WrittenStreamsOptions } from '../written-stream/open-options.ts'
