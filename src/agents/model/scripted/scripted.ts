/**
 * Scripted model without network: its response is a function of its prompt. Streams word by word, calls tools, counts words as
 * tokens.
 */
import { delay } from '../../shared/delay.ts'
import { isReplaying } from '../replaying.ts'
import {
  describeCall,
  type ScriptedCall,
  countWords,
  type ScriptedLanguageModel,
  type ScriptedRequest,
} from './scripted-call.ts'

type StreamPart =
  Awaited<ReturnType<ScriptedLanguageModel['doStream']>>['stream'] extends ReadableStream<infer Part> ? Part : never
type Content = Awaited<ReturnType<ScriptedLanguageModel['doGenerate']>>['content'][number]
type Finish = Extract<StreamPart, { type: 'finish' }>

/** Output of a script: text, or another kind of part. */
export type ScriptedPart =
  | string
  | { readonly type: 'reasoning'; readonly text: string }
  /** `input` is serialized as JSON; `raw` is passed as it is, even if invalid. */
  | {
      readonly type: 'tool'
      readonly name: string
      readonly input?: unknown
      readonly raw?: string
      readonly id?: string
    }
  | { readonly type: 'source'; readonly url: string; readonly title?: string }
  | { readonly type: 'file'; readonly mediaType: string; readonly data: string | Uint8Array }

export type ScriptedOutput = string | Iterable<ScriptedPart> | AsyncIterable<ScriptedPart>

/** Options of `scriptedModel`. */
export interface ScriptedModelOptions {
  /** Default: `scripted`. */
  readonly id?: string
  /** Throwing before the first part fails the request; throwing later interrupts the stream. */
  readonly script: (call: ScriptedCall) => ScriptedOutput | Promise<ScriptedOutput>
  /** Pace of the output. Default: unlimited. Ignored during replay. */
  readonly wordsPerSecond?: number
}

/**
 * A model without network, for tests and demos: its output is a function of its prompt. It streams word by word, calls tools, and
 * counts words as tokens.
 *
 * @example
 * ```ts
 * const model = scriptedModel({ script: () => 'It will rain.' })
 * ```
 */
export function scriptedModel({
  id = 'scripted',
  script,
  wordsPerSecond,
}: ScriptedModelOptions): ScriptedLanguageModel {
  const parts = async (options: ScriptedRequest): Promise<AsyncGenerator<StreamPart, void, void>> => {
    const call = describeCall(options)
    return perform(call, await script(call), wordsPerSecond)
  }
  return {
    specificationVersion: 'v4',
    provider: 'holdfast',
    modelId: id,
    supportedUrls: { '*/*': [/.*/] },
    doStream: async (options) => ({ stream: streamOf(await parts(options)) }),
    async doGenerate(options) {
      const gathered = new Map<string, Content>()
      for await (const part of await parts(options)) {
        if (part.type === 'finish') return { content: [...gathered.values()], ...ending(part), warnings: [] }
        gather(gathered, part)
      }
      throw new Error('the script has no end')
    },
  }
}

function ending({ usage, finishReason }: Finish): Pick<Finish, 'usage' | 'finishReason'> {
  return { usage, finishReason }
}

function streamOf(parts: AsyncGenerator<StreamPart, void, void>): ReadableStream<StreamPart> {
  return new ReadableStream<StreamPart>({
    async pull(controller) {
      const { done, value } = await parts.next()
      if (done === true) controller.close()
      else controller.enqueue(value)
    },
    async cancel() {
      await parts.return()
    },
  })
}

async function* perform(
  call: ScriptedCall,
  output: ScriptedOutput,
  wordsPerSecond: number | undefined,
): AsyncGenerator<StreamPart, void, void> {
  const { signal } = call
  let words = 0
  let calls = 0
  let number = 0
  yield { type: 'stream-start', warnings: [] }
  for await (const part of typeof output === 'string' ? [output] : output) {
    for (const chunk of chunksOf(part, `${number++}`, `call_${call.responses + 1}_${calls + 1}`)) {
      signal?.throwIfAborted()
      const scripted = 'delta' in chunk ? countWords(chunk.delta) : 0
      if (scripted > 0 && wordsPerSecond !== undefined && !isReplaying(signal))
        await delay((scripted * 1000) / wordsPerSecond, signal)
      words += scripted
      if (chunk.type === 'tool-call') calls++
      yield chunk
    }
  }
  yield {
    type: 'finish',
    finishReason: { unified: calls > 0 ? 'tool-calls' : 'stop', raw: undefined },
    usage: usageOf(call.words, words),
  }
}

function* chunksOf(part: ScriptedPart, id: string, callId: string): Generator<StreamPart> {
  if (typeof part === 'string') return yield* textChunks('text', id, part)
  switch (part.type) {
    case 'reasoning':
      return yield* textChunks('reasoning', id, part.text)
    case 'tool': {
      const toolCallId = part.id ?? callId
      const input = part.raw ?? JSON.stringify(part.input ?? {})
      yield { type: 'tool-input-start', id: toolCallId, toolName: part.name }
      yield { type: 'tool-input-delta', id: toolCallId, delta: input }
      yield { type: 'tool-input-end', id: toolCallId }
      return yield { type: 'tool-call', toolCallId, toolName: part.name, input }
    }
    case 'source':
      return yield { ...part, sourceType: 'url', id: part.url }
    case 'file':
      return yield { type: 'file', mediaType: part.mediaType, data: { type: 'data', data: part.data } }
  }
}

/** Splits text into words with their trailing whitespace, so that the chunks join to the original. */
function* textChunks(type: 'text' | 'reasoning', id: string, text: string): Generator<StreamPart> {
  yield { type: `${type}-start`, id }
  for (const delta of text.match(/\s*\S+\s*/g) ?? []) yield { type: `${type}-delta`, id, delta }
  yield { type: `${type}-end`, id }
}

function gather(gathered: Map<string, Content>, part: StreamPart): void {
  switch (part.type) {
    case 'text-delta':
    case 'reasoning-delta': {
      const known = gathered.get(part.id)
      if (known !== undefined && 'text' in known) known.text += part.delta
      else gathered.set(part.id, { type: part.type === 'text-delta' ? 'text' : 'reasoning', text: part.delta })
      return
    }
    case 'tool-call':
      gathered.set(part.toolCallId, part)
      return
    case 'source':
    case 'file':
      gathered.set(`${part.type}-${gathered.size}`, part)
      return
    default:
  }
}

function usageOf(input: number, output: number): Finish['usage'] {
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  }
}
