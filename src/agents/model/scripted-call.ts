/** What a scripted model is asked, in the form in which a script wants to read it. */
import type { LanguageModel } from 'ai'

type Model = Extract<LanguageModel, { specificationVersion: 'v4' }>
type CallOptions = Parameters<Model['doStream']>[0]
type Prompt = CallOptions['prompt']

export interface ScriptedCall {
  readonly prompt: Prompt
  /** Names of the tools that may be called. */
  readonly tools: readonly string[]
  /** The system message. */
  readonly instructions: string
  /** What the user said last. */
  readonly text: string
  /** Results of tools since then, oldest first. */
  readonly results: readonly ScriptedResult[]
  /** Which answer to it this is: 1 for the first, 2 after the tools of the first … */
  readonly turn: number
  /** Answers of the model in the whole prompt. */
  readonly responses: number
  /** Words of the whole prompt. */
  readonly words: number
  readonly format: CallOptions['responseFormat']
  readonly signal: AbortSignal | undefined
}

export interface ScriptedResult {
  readonly tool: string
  readonly call: string
  readonly output: unknown
  /** The tool failed, or was not approved. */
  readonly failed: boolean
}

export function describeCall({ prompt, tools, responseFormat, abortSignal }: CallOptions): ScriptedCall {
  const asked = prompt.findLastIndex(({ role }) => role === 'user')
  const since = prompt.slice(asked + 1)
  return {
    prompt,
    tools: (tools ?? []).map(({ name }) => name),
    instructions: prompt.flatMap((message) => (message.role === 'system' ? [message.content] : [])).join('\n'),
    text: asked < 0 ? '' : textOf(prompt[asked]!),
    results: since.flatMap(resultsOf),
    turn: since.filter(({ role }) => role === 'assistant').length + 1,
    responses: prompt.filter(({ role }) => role === 'assistant').length,
    words: prompt.reduce((sum, message) => sum + wordsIn(textOf(message)), 0),
    format: responseFormat,
    signal: abortSignal,
  }
}

function textOf({ content }: Prompt[number]): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : '')).join('')
}

function resultsOf(message: Prompt[number]): ScriptedResult[] {
  if (message.role !== 'tool') return []
  return message.content.flatMap((part) => {
    if (part.type !== 'tool-result') return []
    const { toolName: tool, toolCallId: call, output } = part
    const failed = output.type.startsWith('error') || output.type === 'execution-denied'
    return [{ tool, call, failed, output: output.type === 'execution-denied' ? output.reason : output.value }]
  })
}

export function wordsIn(text: string): number {
  return text.match(/\S+/g)?.length ?? 0
}
