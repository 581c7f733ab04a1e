/** Settings of a model request. */
import type { ModelMessage } from './sdk-types.ts'

/** Passed to the model unchanged. */
export interface ModelSettings {
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  readonly stopSequences?: string[]
  readonly seed?: number
  readonly headers?: Record<string, string>
  /** Provider-specific options, by provider. */
  readonly providerOptions?: NonNullable<ModelMessage['providerOptions']>
}
