/** The prompt of a scripted model, in a form that is easy to match in a script. */
import type { LanguageModel } from 'ai'

/** A model of the AI SDK's current interface. */
export type ScriptedLanguageModel = Extract<LanguageModel, { specificationVersion: 'v4' }>
/** The AI SDK's request to a model. */
export type ScriptedRequest = Parameters<ScriptedLanguageModel['doStream']>[0]
export type ScriptedPrompt = ScriptedRequest['prompt']

/** A request to a scripted model: prompt, tools and earlier results, in a form that is easy to match. */
export interface ScriptedCall {
  readonly prompt: ScriptedPrompt
  /** Names of the available tools. */
  readonly tools: readonly string[]
  /** JSON schemas of their inputs, by name. */
  readonly toolSchemas: ReadonlyMap<string, unknown>
  /** The system message. */
  readonly instructions: string
  /** The last user message. */
  readonly text: string
  /** Tool results since then, oldest first. */
  readonly results: readonly ScriptedResult[]
  /** Number of this response since the last user message: 1, 2 after the first tool calls … */
  readonly turn: number
  /** Model responses in the whole prompt. */
  readonly responses: number
  /** Words in the whole prompt. */
  readonly words: number
  readonly format: ScriptedRequest['responseFormat']
  readonly signal: AbortSignal | undefined
}

/** The result of a tool call in a scripted model's prompt. */
export interface ScriptedResult {
  readonly tool: string
  readonly call: string
  readonly output: unknown
  /** The tool failed or was not approved. */
  readonly failed: boolean
}

export function describeCall({ prompt, tools, responseFormat, abortSignal }: ScriptedRequest): ScriptedCall {
  const lastUser = prompt.findLastIndex(({ role }) => role === 'user')
  const since = prompt.slice(lastUser + 1)
  return {
    prompt,
    tools: (tools ?? []).map(({ name }) => name),
    toolSchemas: new Map((tools ?? []).map((tool) => [tool.name, 'inputSchema' in tool ? tool.inputSchema : {}])),
    instructions: prompt.flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('\n'),
    text: lastUser < 0 ? '' : textOf(prompt[lastUser]!),
    results: since.flatMap(resultsOf),
    turn: since.filter(({ role }) => role === 'assistant').length + 1,
    responses: prompt.filter(({ role }) => role === 'assistant').length,
    words: prompt.reduce((sum, message) => sum + countWords(textOf(message)), 0),
    format: responseFormat,
    signal: abortSignal,
  }
}

function textOf({ content }: ScriptedPrompt[number]): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

function resultsOf(message: ScriptedPrompt[number]): ScriptedResult[] {
  if (message.role !== 'tool') return []
  return message.content.flatMap((part) => {
    if (part.type !== 'tool-result') return []
    const { toolName: tool, toolCallId: call, output } = part
    const failed = output.type.startsWith('error') || output.type === 'execution-denied'
    return [{ tool, call, failed, output: output.type === 'execution-denied' ? output.reason : output.value }]
  })
}

export function countWords(text: string): number {
  return text.match(/\S+/g)?.length ?? 0
}
