/** Maps the events of a remote run to Holdfast's. Nested runs of members and executors become steps. */
import { createEvent } from '../../core/ports/component.ts'
import type { Event } from '../../core/model/event.ts'
import { clipped, fitToEvent, isLongText, piecesOf } from '../shared/long-text.ts'
import { usageOf } from '../shared/usage.ts'
import type { RemoteAgentOsKind } from './client.ts'
import type { RemoteEvent, Tool } from './wire.ts'

export class RemoteRunOutput {
  readonly #id: string
  readonly #run: string
  readonly #kind: RemoteAgentOsKind
  readonly #steps = new Map<string, string>()
  #open: { readonly type: 'text' | 'reasoning'; readonly message: string } | undefined
  #messages = 0
  #requests = 0
  #hasText = false
  /** The event that ended or paused the run, without a long content, which is in the log as text. */
  end: RemoteEvent | undefined

  constructor(id: string, run: string, kind: RemoteAgentOsKind) {
    this.#id = id
    this.#run = run
    this.#kind = kind
  }

  *add(event: RemoteEvent): Generator<Event> {
    const name = event.event.replace(/^Team(?=[A-Z])/, '').replace(/^Workflow(?=[A-Z])/, 'Run')
    const own = event.run_id === undefined || event.run_id === this.#run
    if (own && /^Run(Completed|Error|Cancelled|Paused)$/.test(name)) return yield* this.#ended(event, name)
    if (!own && (yield* this.#nested(event, name))) return
    yield* this.#content(event, name, own || this.#kind === 'workflow')
  }

  *#content(event: RemoteEvent, name: string, isShown: boolean): Generator<Event> {
    switch (name) {
      case 'RunContent':
        if (isShown) {
          yield* this.#piece('reasoning', event.reasoning_content)
          yield* this.#piece('text', event.content)
        }
        return
      case 'ReasoningContentDelta':
        if (isShown) yield* this.#piece('reasoning', event.reasoning_content)
        return
      case 'RunContentCompleted':
        return yield* this.#close()
      case 'ToolCallStarted':
        yield createEvent('tool.called', { ...toolOf(event.tool), input: fitToEvent(event.tool?.tool_args ?? null) })
        return
      case 'ToolCallCompleted':
        yield resultOf(event.tool)
        return
      case 'ModelRequestCompleted':
        yield this.#responded(event)
        return
      case 'StepStarted':
      case 'StepCompleted':
      case 'StepError':
        yield stepOf(event, name)
        return
      case 'CustomEvent':
        yield createEvent('custom.emitted', { name: 'agentos', value: fitToEvent(event) })
        return
      default:
    }
  }

  /** Handles the lifecycle of a nested run; returns whether the event was about one. */
  *#nested(
    { run_id: run = '', agent_name, team_name, content, error_type, step_id }: RemoteEvent,
    name: string,
  ): Generator<Event, boolean> {
    // The executor of a workflow step is not shown as another step.
    if (this.#kind === 'workflow' && step_id !== undefined) return /^Run(Started|Completed|Error|Cancelled)$/.test(name)
    const step = `${this.#id}/${run}`
    const title = this.#steps.get(run) ?? (agent_name || team_name || 'member')
    switch (name) {
      case 'RunStarted':
        this.#steps.set(run, title)
        yield createEvent('step.started', { step, name: title, kind: team_name === undefined ? 'agent' : 'team' })
        return true
      case 'RunCompleted':
        yield createEvent('step.completed', { step, name: title, output: fitToEvent(content ?? null) })
        return true
      case 'RunError':
      case 'RunCancelled': {
        const error = {
          code: error_type ?? 'agent_failed',
          message: typeof content === 'string' ? clipped(content) : name,
        }
        yield createEvent('step.failed', { step, name: title, error })
        return true
      }
      default:
        return false
    }
  }

  /** Content that was not streamed comes with the final event, for example if only that was stored. */
  *#ended(event: RemoteEvent, name: string): Generator<Event> {
    if (name === 'RunCompleted' && !this.#hasText) yield* this.#piece('text', event.content)
    yield* this.#close()
    const { content, ...rest } = event
    if (name !== 'RunCompleted') this.end = { ...rest, event: name, content: fitToEvent(content ?? null) }
    else this.end = { ...rest, event: name, ...(!isLongText(content) && { content: content ?? null }) }
  }

  #responded(event: RemoteEvent): Event {
    return createEvent('model.responded', {
      request: `${this.#id}/model-${++this.#requests}`,
      model: event.model ?? 'unknown',
      usage: usageOf({
        inputTokens: event.input_tokens,
        outputTokens: event.output_tokens,
        totalTokens: event.total_tokens,
        reasoningTokens: event.reasoning_tokens,
        cachedInputTokens: event.cache_read_tokens,
      }),
    })
  }

  *#piece(type: 'text' | 'reasoning', text: unknown): Generator<Event> {
    if (typeof text !== 'string' || text === '') return
    if (this.#open?.type !== type) {
      yield* this.#close()
      this.#open = { type, message: `${this.#id}/message-${++this.#messages}` }
      yield createEvent(`${type}.started`, { message: this.#open.message })
    }
    if (type === 'text') this.#hasText = true
    const { message } = this.#open
    for (const piece of piecesOf(text)) yield createEvent(`${type}.delta`, { text: piece, message })
  }

  *#close(): Generator<Event> {
    if (this.#open !== undefined) yield createEvent(`${this.#open.type}.completed`, { message: this.#open.message })
    this.#open = undefined
  }
}

function toolOf(tool: Tool | undefined): { call: string; name: string } {
  return { call: tool?.tool_call_id ?? '', name: tool?.tool_name ?? 'tool' }
}

function resultOf(tool: Tool | undefined): Event {
  const { result } = tool ?? {}
  if (tool?.tool_call_error !== true)
    return createEvent('tool.completed', { ...toolOf(tool), output: fitToEvent(result ?? null) })
  const message = typeof result === 'string' ? clipped(result) : 'the tool failed'
  return createEvent('tool.failed', { ...toolOf(tool), error: { code: 'agent_failed', message } })
}

function stepOf({ step_id, step_name = 'step', content, error }: RemoteEvent, name: string): Event {
  const about = { step: step_id ?? step_name, name: step_name }
  if (name === 'StepStarted') return createEvent('step.started', { ...about, kind: 'function' })
  if (name === 'StepCompleted') return createEvent('step.completed', { ...about, output: fitToEvent(content ?? null) })
  return createEvent('step.failed', {
    ...about,
    error: {
      code: 'agent_failed',
      message: clipped([error, content].find((text) => typeof text === 'string') ?? 'the step failed'),
    },
  })
}
