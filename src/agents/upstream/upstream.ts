/** Third-party servers as component sources: each of their agents is served under its own id. */
import { checkOptions } from '../../core/model/check-options.ts'
import { a2aKind } from './a2a-source.ts'
import { agentOsKind, agentOsRules, type AgentOsUpstreamOptions } from './agentos-source.ts'
import { openAiKind, openAiRules, type OpenAiUpstreamOptions } from './openai-source.ts'
import { type UpstreamOptions, upstreamRules } from './options.ts'
import { UpstreamSource } from './source.ts'

export const upstream = {
  /** An AgentOS of agno: its agents, teams and workflows. `url`: without a path, such as `http://localhost:8000`. */
  agentos: (url: string, options: AgentOsUpstreamOptions = {}): UpstreamSource => {
    checkOptions('upstream.agentos', options, agentOsRules)
    return new UpstreamSource(url, agentOsKind(options), options)
  },
  /** A server with chat completions: its models. `url`: with the path of the API, such as `http://localhost:11434/v1`. */
  openai: (url: string, options: OpenAiUpstreamOptions = {}): UpstreamSource => {
    checkOptions('upstream.openai', options, openAiRules)
    return new UpstreamSource(url, openAiKind(options), options)
  },
  /** An A2A agent, 1.0 or 0.3. `url`: of the agent, whose card is found below it, or of the card itself. */
  a2a: (url: string, options: UpstreamOptions = {}): UpstreamSource => {
    checkOptions('upstream.a2a', options, upstreamRules)
    return new UpstreamSource(url, a2aKind(options), options)
  },
}
