/** A component for a model or agent behind a chat completions endpoint: one request to the endpoint does the work of the run. */
import type { Component, Emission, RunContext, UpstreamInfo } from '../../core/ports/component.ts'
import { conversationInput } from './source.ts'
import { WorkError } from '../../core/ports/component.ts'
import { commonOf, type CommonDefinition } from '../shared/component.ts'
import type { HeaderRecord } from '../../client/header-source.ts'
import { INTERNAL } from '../shared/leg.ts'
import { recordedUpstream, withReceived } from '../shared/received.ts'
import { eventBatchesOf, readJson, RemoteError, requestOk } from '../shared/remote.ts'
import type { UpstreamCode } from '../shared/upstream-codes.ts'
import { type UpstreamPool, withSlot } from '../shared/upstream-pool.ts'
import { type ChatBody, chatBody, isForwarded } from './chat-request.ts'
import { type ChatChunk, type ChatEvent, CHUNK, parseChatEvent, wholeChunk } from './chat-wire.ts'
import { assertTrustworthy, type ResponsePolicies } from './response-policy.ts'
import { parsedInput, ChatOutput } from './chat-output.ts'
import { isForwardedResponse, type ResponsesMode, runResponse } from './response-agent.ts'

export interface ChatUpstreamDefinition extends CommonDefinition, ResponsePolicies {
  /** Its base URLs end in `/v1` for most servers. */
  readonly pool: UpstreamPool
  /** Name of the model on the upstream. */
  readonly model: string
  readonly upstream: UpstreamInfo
  /** Headers of requests for a run. Default: none. */
  readonly headersFor?: (context: RunContext) => Promise<HeaderRecord>
  /** What happens when the stream breaks or the gateway dies: the run fails, or the request is sent again. Default: `fail`. */
  readonly recovery?: 'fail' | 'retry'
  /** Header with the session's id. The upstream then keeps the history of a session itself. Default: none. */
  readonly sessionHeader?: string
  /** Requests of Responses clients are sent to `/responses`. Default: to `/chat/completions`, like all others. */
  readonly responses?: ResponsesMode
  readonly requestTimeoutMs?: number
  readonly idleTimeoutMs?: number
  /** Throws if the upstream cannot take a run now. */
  readonly assertAdmits?: () => void
}

const defaults = { requestTimeoutMs: 120_000, idleTimeoutMs: 120_000, retries: 2, retryDelayMs: 250 }

type Settings = ChatUpstreamDefinition & typeof defaults

/** Maximum requests per run with `recovery: 'retry'`, and maximum rounds of tool results. */
const REQUESTS_MAX = 3
const TOOL_ROUNDS_MAX = 100

export function chatUpstream(definition: ChatUpstreamDefinition): Component {
  const { recovery = 'fail', assertAdmits = () => {} } = definition
  const settings: Settings = { ...defaults, ...definition }
  return {
    // Stored responses can be re-attached; chat completions decide for themselves.
    ...commonOf({ ...definition, recovery: settings.responses === undefined ? recovery : 'resume' }),
    kind: 'agent',
    input: conversationInput,
    admit: assertAdmits,
    run: (input, context) => run(settings, input, context),
  }
}

async function* run(settings: Settings, input: unknown, context: RunContext): AsyncGenerator<Emission, unknown, void> {
  if (isForwardedResponse(input))
    return yield* withSlot(settings.pool, context.signal, (slot) => runResponse(settings, input, context, slot))
  if (settings.responses !== undefined && settings.recovery !== 'retry' && context.attempt > 1)
    throw new WorkError({ code: 'interrupted', message: 'the gateway was interrupted', retryable: true })
  let body = await chatBody(input, context, settings.sessionHeader !== undefined)
  for (let round = 1; round <= TOOL_ROUNDS_MAX; round++) {
    const output = yield* streamRound(settings, body, context, round)
    // A chat client executes the calls itself, and sends their results with its next request.
    if (output.calls.length === 0 || isForwarded(input)) return output.text === '' ? undefined : output.text
    body = { ...body, messages: [...body.messages, ...(await resultsOf(output, context))] }
  }
  throw new Error(`the upstream requested tool results more than ${TOOL_ROUNDS_MAX} times in one run`)
}

/** Asks the caller for the results of its tools, and adds them to the conversation. */
async function resultsOf({ calls, text = '' }: ChatOutput, context: RunContext): Promise<ChatBody['messages']> {
  const results = calls.map(async ({ call, name, arguments: input }) => {
    const details = { tool: name, call, input: parsedInput(input) }
    const result = await context.ask({ kind: 'tool', prompt: `What is the result of ${name}?`, details })
    const content = typeof result === 'string' ? result : JSON.stringify(result ?? null)
    return { role: 'tool', tool_call_id: call, content }
  })
  const toolCalls = calls.map(({ call: id, name, arguments: input }) => ({
    id,
    type: 'function',
    function: { name, arguments: input },
  }))
  return [{ role: 'assistant', content: text, tool_calls: toolCalls }, ...(await Promise.all(results))]
}

/** Streams one response. With `recovery: 'retry'`, a broken one is retracted and the request is sent again. */
async function* streamRound(
  settings: Settings,
  body: ChatBody,
  context: RunContext,
  round: number,
): AsyncGenerator<Emission, ChatOutput, void> {
  for (let requests = 1; ; requests++) {
    const output = new ChatOutput(`${context.runId}/${round}`, settings.model)
    const attempt = (): AsyncGenerator<Emission, void, void> => streamOrFail(settings, body, output, context)
    try {
      if (settings.recovery === 'retry') await context.stage('request', attempt, { details: INTERNAL })
      else yield* attempt()
      return output
    } catch (thrown) {
      context.signal.throwIfAborted()
      const mayRetry = thrown instanceof WorkError && REPEATABLE.has(thrown.failure.code)
      if (settings.recovery !== 'retry' || requests === REQUESTS_MAX || !mayRetry) throw thrown
    }
  }
}

/** Failures after which the same request may succeed. */
const REPEATABLE: ReadonlySet<string> = new Set<UpstreamCode>([
  'upstream_unreachable',
  'upstream_cut',
  'upstream_idle',
  'upstream_incomplete',
  'upstream_empty',
])

async function* streamOrFail(
  settings: Settings,
  body: ChatBody,
  output: ChatOutput,
  context: RunContext,
): AsyncGenerator<Emission, void, void> {
  // Not `withSlot`: each generator that an event passes through costs as much as parsing it.
  const slot = settings.pool.slot(context.signal)
  try {
    await slot.acquire()
    yield* streamResponse(settings, body, output, context)
  } catch (thrown) {
    throw thrown instanceof RemoteError ? new WorkError(thrown.failure) : thrown
  } finally {
    slot.release()
  }
}

async function* streamResponse(
  settings: Settings,
  body: ChatBody,
  output: ChatOutput,
  context: RunContext,
): AsyncGenerator<Emission, void, void> {
  const upstream = recordedUpstream(settings.upstream, context)
  const response = await send(settings, body, context)
  if (!isEventStream(response)) {
    const chunk = wholeChunk((await readJson(response)) as ChatChunk)
    yield* withReceived(upstream, CHUNK, chunk, output.add(chunk))
  } else {
    reading: for await (const events of eventBatchesOf(response, settings.idleTimeoutMs)) {
      for (const event of events) {
        const parsedEvent = parseChatEvent(event)
        if (parsedEvent.kind === 'done') break reading
        for (const emission of emissionsOf(parsedEvent, output, upstream)) yield emission
      }
    }
  }
  assertTrustworthy(output, settings)
  yield* output.end()
}

function emissionsOf(
  event: Exclude<ChatEvent, { kind: 'done' }>,
  output: ChatOutput,
  upstream: UpstreamInfo | undefined,
): Generator<Emission> {
  if (event.kind === 'chunk') return withReceived(upstream, CHUNK, event.received, output.add(event.chunk))
  return withReceived(upstream, event.name, event.value, [])
}

function isEventStream({ headers }: Response): boolean {
  return /^text\/event-stream\b/i.test(headers.get('content-type') ?? '')
}

/** Retries only what the upstream certainly did not act on. */
async function send(settings: Settings, body: ChatBody, context: RunContext): Promise<Response> {
  const { signal, sessionId } = context
  const { pool, model, headersFor, sessionHeader, requestTimeoutMs: timeoutMs } = settings
  const headers = await headersFor?.(context)
  return pool.send(pool.preferred(sessionId), settings, signal, ({ url }) =>
    requestOk({
      url: `${url}/chat/completions`,
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        accept: 'text/event-stream',
        ...headers,
        ...(sessionHeader !== undefined && { [sessionHeader]: sessionId }),
      },
      body: JSON.stringify({ ...body, model, stream: true, stream_options: optionsIn(body) }),
      signal,
      timeoutMs,
    }),
  )
}

/** Usage is always requested: the run's own accounting needs it. */
function optionsIn({ stream_options: given }: ChatBody): object {
  return { ...(typeof given === 'object' ? given : {}), include_usage: true }
}
