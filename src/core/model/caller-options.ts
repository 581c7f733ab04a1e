/**
 * Model options that the caller sets. Protocols pass them in the input, as `caller` beside `messages`. Components that run on a
 * model use them; other components do not get them.
 */
export interface CallerOptions {
  readonly instructions?: string
  /** Tools that the caller executes: the run pauses for their results. */
  readonly tools?: readonly CallerTool[]
  /** Applies to the first response to the user's message; after that the model chooses. */
  readonly toolChoice?: 'auto' | 'none' | 'required' | { readonly tool: string }
  /** JSON schema of the response. */
  readonly output?: Readonly<Record<string, unknown>>
  readonly settings?: CallerSettings
}

/** A tool of the caller, which the caller executes itself. */
export interface CallerTool {
  readonly name: string
  readonly description?: string
  /** JSON schema of its input. */
  readonly parameters?: Readonly<Record<string, unknown>>
}

/** Model settings of the caller, as in the AI SDK. */
export interface CallerSettings {
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  readonly stopSequences?: string[]
  readonly seed?: number
}
