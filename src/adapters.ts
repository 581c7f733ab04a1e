/**
 * `holdfast/adapters`: makes components of agents written for something else: AI SDK, OpenAI Agents SDK, LangGraph, a program, or
 * another server. Users install the packages that an adapter needs. For agents that you write for Holdfast, use `agent()` of
 * `holdfast`.
 */
export { aiAgent, type AiAgentDefinition } from './agents/ai-agent/agent.ts'
export type { AiSdkAgent } from './agents/ai-agent/stream.ts'
export { langGraphAgent, type LangGraphAgentDefinition } from './agents/langgraph/agent.ts'
export type { LangGraph, LangGraphState } from './agents/langgraph/thread.ts'
export { type OpenAiSdkAgent, openAiAgent, type OpenAiAgentDefinition } from './agents/openai-agents/agent.ts'
export { processAgent, type ProcessAgentDefinition } from './agents/process/agent.ts'
export { remoteA2aAgent, type RemoteA2aAgentDefinition } from './agents/remote-a2a/agent.ts'
export { upstream } from './agents/upstream/upstream.ts'
export type { AgentOsUpstreamOptions } from './agents/upstream/agentos-source.ts'
export type { HeaderRecord, HeaderSource } from './client/header-source.ts'
export type { OpenAiUpstreamOptions } from './agents/upstream/openai-source.ts'
export type { ResponsePolicies, ResponsePolicy } from './agents/upstream/response-policy.ts'
export type { UpstreamOptions } from './agents/upstream/options.ts'
export type { CircuitBreakerOptions } from './agents/shared/circuit-breaker.ts'
export type { UpstreamSource } from './agents/upstream/source.ts'
export { remoteAgentOs, type RemoteAgentOsDefinition } from './agents/remote-agentos/agent.ts'
export type { RemoteAgentOsKind } from './agents/remote-agentos/client.ts'
