/** Errors with the codes of `assistant-stream`, which checks only the code. */
const ID_PATTERN = /^[A-Za-z0-9_.:-]{1,256}$/

export class StreamStoreError extends Error {
  override readonly name = 'ResumableStreamError'
  readonly code: 'missing' | 'finalized' | 'invalid-id'

  constructor(code: StreamStoreError['code'], message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** The ids that the stores of the package accept. */
export function checkStreamId(streamId: string): void {
  if (!ID_PATTERN.test(streamId))
    throw new StreamStoreError('invalid-id', `Invalid streamId: ${streamId} does not match ${ID_PATTERN}`)
}
