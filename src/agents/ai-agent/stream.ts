/** One call of an agent object: streams its parts as events and returns the recorded result. */
import type { ModelMessage, TextStreamPart, ToolSet } from 'ai'
import { createEvent, type Emission } from '../../core/ports/component.ts'
import { messageOf } from '../../core/model/errors.ts'
import type { Event } from '../../core/model/event.ts'
import { ResponseParts } from '../model/response-parts.ts'
import { usageOf } from '../model/usage.ts'

type StreamPart = TextStreamPart<ToolSet>

/** The parts of an agent that are used, whatever its tools, options and output are. */
export interface AiSdkAgent {
  stream(options: never): PromiseLike<{
    readonly stream: AsyncIterable<unknown>
    readonly responseMessages: PromiseLike<readonly ModelMessage[]>
    readonly output: PromiseLike<unknown>
  }>
}

/** A call that the agent cannot make by itself: it needs an approval or the caller's result. */
export interface Open {
  readonly call: string
  readonly tool: string
  readonly input: unknown
  readonly approval?: string
}

/** How a call of the agent ended, as recorded in the log. */
export interface AgentEnd {
  readonly messages: readonly ModelMessage[]
  readonly open: readonly Open[]
  readonly output: unknown
}

export interface StreamOptions {
  readonly id: string
  readonly messages: ModelMessage[]
  readonly signal: AbortSignal
  readonly options?: unknown
}

export async function* streamAgent(
  agent: AiSdkAgent,
  { id, messages, signal, options }: StreamOptions,
): AsyncGenerator<Emission, AgentEnd, void> {
  const result = await agent.stream({ messages, abortSignal: signal, options } as never)
  // These rejections also arrive in the stream, which reports them.
  for (const promised of [result.responseMessages, result.output]) Promise.resolve(promised).catch(() => {})
  const emitted = new StreamOutput(id)
  for await (const part of result.stream as AsyncIterable<StreamPart>) {
    if (part.type === 'error') throw part.error
    if (part.type === 'abort') throw new Error(part.reason ?? 'the agent was aborted')
    const event = emitted.add(part)
    if (event !== undefined) yield event
  }
  const { finish, open } = emitted
  if (finish === undefined) throw new Error('the stream of the agent ended before its response was complete')
  if (finish === 'error') throw new Error('the model stopped because of an error')
  return {
    messages: await result.responseMessages,
    open,
    output: open.length > 0 ? null : await result.output,
  }
}

/** Maps an agent's stream to events. Text, reasoning, sources and files look like those of a model. */
class StreamOutput {
  readonly #id: string
  readonly #open = new Map<string, Open>()
  #answer: ResponseParts
  #steps = 0
  finish: string | undefined

  constructor(id: string) {
    this.#id = id
    this.#answer = new ResponseParts(id)
  }

  get open(): Open[] {
    return [...this.#open.values()]
  }

  add(part: StreamPart): Event | undefined {
    switch (part.type) {
      case 'start-step':
        this.#answer = new ResponseParts(`${this.#id}.${++this.#steps}`)
        return undefined
      case 'finish-step':
        return this.#responded(part)
      case 'finish':
        this.finish = part.finishReason
        return undefined
      case 'tool-call':
        this.#open.set(part.toolCallId, { call: part.toolCallId, tool: part.toolName, input: part.input })
        return createEvent('tool.called', { call: part.toolCallId, name: part.toolName, input: part.input ?? null })
      case 'tool-approval-request':
        return this.#approval(part)
      case 'tool-result':
      case 'tool-error':
      case 'tool-output-denied':
        return this.#settled(part)
      case 'start':
      case 'tool-approval-response':
      case 'steering-message':
      case 'ping':
      case 'raw':
      case 'abort':
      case 'error':
        return undefined
      default:
        return this.#answer.add(part)
    }
  }

  #responded({ response, finishReason, usage }: Extract<StreamPart, { type: 'finish-step' }>): Event {
    const request = `${this.#id}.${this.#steps}`
    return createEvent('model.responded', {
      request,
      model: response.modelId,
      finish: finishReason,
      usage: usageOf(usage),
    })
  }

  #approval({ approvalId, toolCall, isAutomatic }: Extract<StreamPart, { type: 'tool-approval-request' }>): undefined {
    if (isAutomatic === true) return
    const { toolCallId: call, toolName: tool, input } = toolCall
    this.#open.set(call, { call, tool, input: input as unknown, approval: approvalId })
  }

  #settled(part: Extract<StreamPart, { type: 'tool-result' | 'tool-error' | 'tool-output-denied' }>): Event {
    const { toolCallId: call, toolName: name } = part
    if (part.type === 'tool-result') {
      if (part.preliminary === true) return createEvent('tool.progressed', { call, output: part.output })
      this.#open.delete(call)
      return createEvent('tool.completed', { call, name, output: (part.output as unknown) ?? null })
    }
    this.#open.delete(call)
    if (part.type === 'tool-output-denied')
      return createEvent('tool.failed', {
        call,
        name,
        error: { code: 'forbidden', message: 'the call was not approved' },
      })
    return createEvent('tool.failed', { call, name, error: { code: 'agent_failed', message: messageOf(part.error) } })
  }
}
