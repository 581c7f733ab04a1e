/** One model request: streams its parts as events and returns the recorded turn. */
import type {
  AssistantModelMessage,
  FlexibleSchema,
  LanguageModel,
  ModelMessage,
  LanguageModelStreamPart as StreamPart,
  ToolSet,
} from 'ai'
import { createEvent, type Emission, type RunContext, WorkError } from '../../core/ports/component.ts'
import type { Usage } from '../../core/model/event.ts'
import { ResponseParts } from './response-parts.ts'
import { isGone } from './reattach/reattach-api.ts'
import { BackgroundResponse } from './reattach/background-response.ts'
import { nameOf } from './model-name.ts'
import { makerOf } from './reattach/reattach.ts'
import { noteContext } from './replaying.ts'
import { requestFailure, retryDelay, type RetryPolicy } from './retry.ts'
import type { Sdk } from './sdk.ts'
import type { ModelSettings } from './settings.ts'
import { usageOf } from './usage.ts'

export interface ModelRequest {
  readonly sdk: Sdk
  readonly model: LanguageModel
  readonly instructions?: string
  readonly messages: readonly ModelMessage[]
  readonly tools: ToolSet
  readonly output?: FlexibleSchema
  readonly settings?: ModelSettings
}

/** A model response, as recorded in the log. */
export interface ModelTurn {
  readonly content: Exclude<AssistantModelMessage['content'], string>
  readonly text: string
  readonly calls: readonly ModelToolCall[]
  readonly usage: Usage
  readonly finish: string
}

/** A tool call of the model; `problem` is set if the SDK could not parse it. */
export interface ModelToolCall {
  readonly id: string
  readonly name: string
  readonly input: unknown
  readonly problem?: string
}

/** Sends a request, with retries. Each attempt is a stage: the output of a failed one is retracted. */
export async function requestModel(
  context: RunContext,
  turn: number,
  request: ModelRequest,
  policy: RetryPolicy,
): Promise<ModelTurn> {
  let failures = 0
  for (let tries = 1; ; tries++) {
    const name = `model-${turn}${tries === 1 ? '' : `.${tries}`}`
    try {
      return await context.stage('model', () => stream(name, context, request), { kind: 'model' })
    } catch (thrown) {
      // Losing the response to a crash is not a failure of this request. It happens at most once per attempt of the run.
      if (isGone(thrown) && !context.signal.aborted) continue
      failures++
      const delay = context.signal.aborted ? undefined : retryDelay(thrown, failures, policy)
      if (delay === undefined) throw thrown
      await context.sleep(delay)
    }
  }
}

async function* stream(
  name: string,
  context: RunContext,
  request: ModelRequest,
): AsyncGenerator<Emission, ModelTurn, void> {
  const { signal } = context
  const id = `${context.runId}/${name}`
  const background =
    makerOf(request.model) === undefined ? undefined : new BackgroundResponse(request.sdk, context, name)
  noteContext(context)
  const parts = new ResponseParts(id)
  const modelName = nameOf(request.model)
  let hasStarted = false
  yield createEvent('model.requested', { request: id, ...modelName })
  try {
    for await (const part of await open(request, signal, background)) {
      hasStarted = true
      if (part.type === 'error') throw part.error
      if (part.type === 'model-call-end') {
        const turn = { ...parts.finished(), usage: usageOf(part.usage), finish: part.finishReason }
        // Emitted before validation: an unusable response was paid for too.
        yield createEvent('model.responded', { request: id, ...modelName, finish: turn.finish, usage: turn.usage })
        assertWhole(part.finishReason)
        return turn
      }
      const event = parts.add(part)
      if (event !== undefined) yield event
    }
    throw new Error('the stream of the model ended before its response was complete')
  } catch (thrown) {
    await background?.abandon()
    if (signal.aborted) throw thrown
    throw background?.failure ?? requestFailure(thrown, hasStarted)
  }
}

async function open(
  { sdk, model, instructions, messages, tools, output, settings }: ModelRequest,
  signal: AbortSignal,
  background: BackgroundResponse | undefined,
): Promise<AsyncIterable<StreamPart>> {
  const { stream: opened } = await sdk.experimental_streamLanguageModelCall({
    ...settings,
    model: background === undefined ? model : makerOf(model)!(background.fetch),
    messages: [...messages],
    abortSignal: signal,
    ...(instructions !== undefined && { instructions }),
    ...(Object.keys(tools).length > 0 && { tools }),
    ...(output !== undefined && { output: sdk.Output.object({ schema: output }) }),
  })
  return opened
}

/** A response that the provider aborted must not pass as complete. */
function assertWhole(finish: string): void {
  if (finish !== 'error' && finish !== 'interrupted') return
  throw new WorkError({
    code: 'agent_failed',
    message: finish === 'error' ? 'the model stopped because of an error' : 'the model was interrupted',
    retryable: true,
    details: { finish },
  })
}
