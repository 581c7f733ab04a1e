/** Servers that other people wrote, as sources of components: each of their agents appears here under its own id. */
import { a2aKind } from './a2a-source.ts'
import { agentOsKind, type AgentOsUpstreamOptions } from './agentos-source.ts'
import { openAiKind, type OpenAiUpstreamOptions } from './openai-source.ts'
import { type UpstreamOptions, UpstreamSource } from './source.ts'

export const upstream = {
  /** An AgentOS of agno: its agents, teams and workflows. `url`: without a path, such as `http://localhost:7777`. */
  agentos: (url: string, options: AgentOsUpstreamOptions = {}): UpstreamSource =>
    new UpstreamSource(url, agentOsKind(withoutTrailingSlash(url), options), options),
  /** A server with chat completions: its models. `url`: with the path of the API, such as `http://localhost:11434/v1`. */
  openai: (url: string, options: OpenAiUpstreamOptions = {}): UpstreamSource =>
    new UpstreamSource(url, openAiKind(withoutTrailingSlash(url), options), options),
  /** An A2A agent, 1.0 or 0.3. `url`: of the agent, whose card is found below it, or of the card itself. */
  a2a: (url: string, options: UpstreamOptions = {}): UpstreamSource =>
    new UpstreamSource(url, a2aKind(withoutTrailingSlash(url), options), options),
}

function withoutTrailingSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
