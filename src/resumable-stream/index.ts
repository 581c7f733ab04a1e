/** Resumable streams without Redis: a drop-in for the npm package `resumable-stream`. */
export {
  createResumableStreamContext,
  type CreateResumableStreamContextOptions,
  type ResumableStreamContext,
} from './context.ts'
export { type MakeStream, resumableStreams } from './stream-component.ts'
