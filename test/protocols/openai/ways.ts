/** Every way in which the official JavaScript clients request a response, with one result type: the text, and the error. */
import { createOpenAI } from '@ai-sdk/openai'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { generateText, streamText, type LanguageModel } from 'ai'
import OpenAI7 from 'openai'
import type { ChatCompletionCreateParamsNonStreaming } from 'openai/resources'
import type { ResponseStreamEvent } from 'openai/resources/responses/responses'
import OpenAI6 from 'openai-v6'
import { until } from '../../support/until.ts'

export interface Got {
  readonly text: string
  /** How the program learned of the failure: an exception, an error part, or a status. */
  readonly raised: unknown
  /** The client's finish reason. */
  readonly finish: unknown
}

export interface Asked {
  readonly base: string
  readonly model: string
  readonly input: string
}

export interface Way {
  readonly name: string
  /** Text is streamed; otherwise it arrives at once. */
  readonly streams: boolean
  readonly ask: (asked: Asked) => Promise<Got>
}

/** Both majors have the same calls; the types of the newer one are used for both. */
const versions: readonly (readonly [string, typeof OpenAI7])[] = [
  ['openai 7', OpenAI7],
  ['openai 6', OpenAI6 as unknown as typeof OpenAI7],
]

interface Seen {
  text: string
  finish: unknown
}

/** Converts anything thrown to the error. */
function way(name: string, streams: boolean, act: (asked: Asked, seen: Seen) => Promise<unknown>): Way {
  return {
    name,
    streams,
    async ask(asked) {
      const seen: Seen = { text: '', finish: undefined }
      try {
        return { raised: await act(asked, seen), ...seen }
      } catch (raised) {
        return { raised, ...seen }
      }
    },
  }
}

type ChatRequest = Pick<ChatCompletionCreateParamsNonStreaming, 'model' | 'messages'>

function chat({ model, input }: Asked): ChatRequest {
  return { model, messages: [{ role: 'user', content: input }] }
}

function openAiWays([version, OpenAI]: (typeof versions)[number]): Way[] {
  const client = ({ base }: Asked): OpenAI7 => new OpenAI({ baseURL: base, apiKey: 'none', maxRetries: 0 })
  return [
    way(`${version}, chat, stream`, true, async (asked, seen) => {
      const stream = await client(asked).chat.completions.create({ ...chat(asked), stream: true })
      for await (const { choices } of stream) {
        const [choice] = choices
        seen.text += choice?.delta.content ?? ''
        seen.finish = choice?.finish_reason ?? seen.finish
      }
    }),
    way(`${version}, chat, helper`, true, async (asked, seen) => {
      const stream = client(asked).chat.completions.stream(chat(asked))
      stream.on('content', (delta) => {
        seen.text += delta
      })
      const [choice] = (await stream.finalChatCompletion()).choices
      seen.finish = choice!.finish_reason
    }),
    way(`${version}, chat, whole`, false, async (asked, seen) => {
      const { choices } = await client(asked).chat.completions.create(chat(asked))
      seen.text = choices[0]!.message.content ?? ''
      seen.finish = choices[0]!.finish_reason
    }),
    way(`${version}, response, stream`, true, async (asked, seen) => {
      const { model, input } = asked
      for await (const event of await client(asked).responses.create({ model, input, stream: true })) {
        take(event, seen)
      }
    }),
    way(`${version}, response, helper`, true, async (asked, seen) => {
      const { model, input } = asked
      const stream = client(asked).responses.stream({ model, input })
      stream.on('response.output_text.delta', ({ delta }) => {
        seen.text += delta
      })
      const final = await stream.finalResponse()
      seen.finish = final.status
    }),
    way(`${version}, response, whole`, false, async (asked, seen) => {
      const { model, input } = asked
      const response = await client(asked).responses.create({ model, input })
      seen.text = response.output_text
      seen.finish = response.status
    }),
    way(`${version}, response, background`, false, async (asked, seen) => {
      const { model, input } = asked
      const api = client(asked).responses
      const { id } = await api.create({ model, input, background: true })
      const ended = await until(
        `response ${id} has ended`,
        async () => {
          const response = await api.retrieve(id)
          return response.status !== 'queued' && response.status !== 'in_progress' && response
        },
        { withinMs: 180_000 },
      )
      seen.text = ended.output_text
      seen.finish = ended.status
      return ended.status === 'completed' ? undefined : ended.error
    }),
    way(`${version}, response, resumed`, true, async (asked, seen) => {
      const api = client(asked).responses
      const { id, last } = await cut(api, asked, seen)
      for await (const event of await api.retrieve(id, { stream: true, starting_after: last })) take(event, seen)
    }),
    way(`${version}, response, resumed by the helper`, true, async (asked, seen) => {
      const api = client(asked).responses
      const { id, last } = await cut(api, asked, seen)
      const stream = api.stream({ response_id: id, starting_after: last })
      for await (const event of stream) take(event, seen)
      const final = await stream.finalResponse()
      seen.finish = final.status
    }),
  ]
}

/** A background stream whose connection is cut after the first text, or at its end if there is no text. */
async function cut(api: OpenAI7['responses'], asked: Asked, seen: Seen): Promise<{ id: string; last: number }> {
  const { model, input } = asked
  let last = -1
  let id = ''
  for await (const event of await api.create({ model, input, background: true, stream: true })) {
    last = event.sequence_number
    if (event.type === 'response.created') id = event.response.id
    take(event, seen)
    if (event.type === 'response.output_text.delta') break // which cuts the connection
  }
  return { id, last }
}

function take(event: ResponseStreamEvent, seen: Seen): void {
  if ('response' in event) seen.finish = event.response.status
  if (event.type === 'response.output_text.delta') seen.text += event.delta
}

function aiWays(name: string, modelOf: (asked: Asked) => LanguageModel): Way[] {
  return [
    way(`${name}, stream`, true, async (asked, seen) => {
      let raised: unknown
      const result = streamText({
        model: modelOf(asked),
        prompt: asked.input,
        maxRetries: 0,
        onError: ({ error }) => void (raised = error),
      })
      for await (const part of result.fullStream) {
        if (part.type === 'error') raised = part.error
        if (part.type === 'finish') seen.finish = part.finishReason
        if (part.type !== 'text-delta') continue
        seen.text += part.text
      }
      return raised
    }),
    way(`${name}, whole`, false, async (asked, seen) => {
      const result = await generateText({ model: modelOf(asked), prompt: asked.input, maxRetries: 0 })
      seen.text = result.text
      seen.finish = result.finishReason
    }),
  ]
}

export const ways: readonly Way[] = [
  ...versions.flatMap(openAiWays),
  ...aiWays('AI SDK, chat', ({ base, model }) =>
    createOpenAICompatible({ name: 'holdfast', baseURL: base, apiKey: 'none' })(model),
  ),
  ...aiWays('AI SDK of OpenAI, chat', ({ base, model }) => createOpenAI({ baseURL: base, apiKey: 'none' }).chat(model)),
  ...aiWays('AI SDK, response', ({ base, model }) => createOpenAI({ baseURL: base, apiKey: 'none' }).responses(model)),
]
