/** Adapters: agents that were written for something else, as components. What each needs is installed by its user. */
export { aiAgent, type AiAgentDefinition } from './agents/ai-agent/agent.ts'
export { langGraphAgent, type LangGraphDefinition } from './agents/langgraph/agent.ts'
export { openAiAgent, type OpenAiAgentDefinition } from './agents/openai-agents/agent.ts'
export { processAgent, type ProcessAgentDefinition } from './agents/process/agent.ts'
export { remoteA2aAgent, type RemoteA2aDefinition } from './agents/remote-a2a/agent.ts'
export { remoteAgentOs, type RemoteAgentOsDefinition } from './agents/remote-agentos/agent.ts'
