/** Discovers the models of an OpenAI-compatible server. */
import { aList, aString, oneOf, type OptionRules } from '../../core/model/check-options.ts'
import { WorkError } from '../../core/ports/component.ts'
import { chatUpstream } from './chat-agent.ts'
import { fetchJson, listIn, objectIn, textIn } from './fetch-json.ts'
import { type UpstreamOptions, upstreamRules } from './options.ts'
import { type ResponsePolicies, responseRules } from './response-policy.ts'
import type { UpstreamKind } from './source.ts'

/** Options of `upstream.openai`. */
export interface OpenAiUpstreamOptions extends UpstreamOptions, ResponsePolicies {
  /** What happens when the stream breaks or the gateway dies: the run fails, or the request is sent again. Default: `fail`. */
  readonly recovery?: 'fail' | 'retry'
  /** Header with the session's id. The upstream then keeps the history of a session itself. Default: none. */
  readonly sessionHeader?: string
  /**
   * The upstream also supports `/responses`: requests from Responses clients go there. `background` starts background responses,
   * whose streams can be resumed; `stream` starts streaming ones, whose outcome is fetched if the stream breaks. Default: they are
   * converted to chat completions.
   */
  readonly responses?: 'stream' | 'background'
  /** Ids of its models. Default: those that it lists at `/models`. */
  readonly models?: readonly string[]
}

export const openAiRules: OptionRules<OpenAiUpstreamOptions> = {
  ...upstreamRules,
  models: aList,
  recovery: oneOf('fail', 'retry'),
  ...responseRules,
  sessionHeader: aString,
  responses: oneOf('stream', 'background'),
}

export function openAiKind(options: OpenAiUpstreamOptions): UpstreamKind {
  const { headers, models, recovery, responses, sessionHeader, idleTimeoutMs, requestTimeoutMs } = options
  const { onEmptyResponse, onIncompleteResponse, onErrorResponse } = options
  return {
    protocol: 'openai',
    async find(url, signal) {
      const listed = objectIn(await fetchJson(`${url}/models`, headers, signal).catch(models && onlyRefusals))
      const ids = models ?? listIn(listed['data']).map((each) => textIn(objectIn(each), 'id'))
      return ids.flatMap((id) => (id === undefined ? [] : [{ id, kind: 'agent' as const }]))
    },
    component: ({ id: model }, common) =>
      chatUpstream({
        ...common,
        ...(responses !== undefined && { responses, upstream: { ...common.upstream, responses: true as const } }),
        model,
        recovery: recovery ?? 'fail',
        ...(onEmptyResponse !== undefined && { onEmptyResponse }),
        ...(onIncompleteResponse !== undefined && { onIncompleteResponse }),
        ...(onErrorResponse !== undefined && { onErrorResponse }),
        ...(sessionHeader !== undefined && { sessionHeader }),
        ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
        ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
      }),
  }
}

/** A server that refuses to list its models is up. */
function onlyRefusals(thrown: unknown): undefined {
  const { status } = (thrown instanceof WorkError ? (thrown.failure.details ?? {}) : {}) as { status?: number }
  if (status === 401 || status === 403 || status === 404) return undefined
  throw thrown
}
