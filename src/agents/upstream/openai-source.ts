/** Discovers the models of an OpenAI-compatible server. */
import { chatUpstream, type ChatUpstreamDefinition } from './chat-agent.ts'
import { fetchJson, listIn, objectIn, textIn } from './fetch-json.ts'
import type { AnswerPolicies } from './answer-policy.ts'
import type { UpstreamKind, UpstreamOptions } from './source.ts'

export interface OpenAiUpstreamOptions
  extends UpstreamOptions, AnswerPolicies, Pick<ChatUpstreamDefinition, 'recovery' | 'sessionHeader'> {
  /** Ids of its models, instead of those that it lists at `/models`. */
  readonly models?: readonly string[]
}

export function openAiKind(url: string, options: OpenAiUpstreamOptions): UpstreamKind {
  const { headers = {}, models, recovery, sessionHeader, idleTimeoutMs, requestTimeoutMs } = options
  const { onEmptyAnswer, onIncompleteAnswer, onErrorAnswer } = options
  return {
    protocol: 'openai',
    async find(signal) {
      const listed = objectIn(await fetchJson(`${url}/models`, headers, signal))
      const ids = models ?? listIn(listed['data']).map((each) => textIn(objectIn(each), 'id'))
      return ids.flatMap((id) => (id === undefined ? [] : [{ id, kind: 'agent' as const }]))
    },
    component: ({ id: model }, common) =>
      chatUpstream({
        ...common,
        url,
        model,
        recovery: recovery ?? 'fail',
        ...(onEmptyAnswer !== undefined && { onEmptyAnswer }),
        ...(onIncompleteAnswer !== undefined && { onIncompleteAnswer }),
        ...(onErrorAnswer !== undefined && { onErrorAnswer }),
        ...(sessionHeader !== undefined && { sessionHeader }),
        ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
        ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
      }),
  }
}
