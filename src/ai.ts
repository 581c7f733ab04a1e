/**
 * `holdfast/ai`: teams, MCP tools and scripted models, for agents on the AI SDK (`ai`, which the user installs).
 *
 * Elsewhere: `agent({ model })` is in `holdfast`, an agent object of the AI SDK becomes a component with `aiAgent` of `holdfast/adapters`,
 * and `useChat` has its transport in `holdfast/ai-sdk`.
 */
export type { AgentHistory } from './agents/model/history.ts'
export type { InputFile, ModelInput } from './agents/model/input.ts'
export { type ModelMaker, resumable } from './agents/model/reattach/reattach.ts'
export { mcp, type McpOptions, type McpServer, type McpServers } from './agents/model/tools/mcp.ts'
export type { ModelSettings } from './agents/model/settings.ts'
export {
  type ScriptedOutput,
  scriptedModel,
  type ScriptedModelOptions,
  type ScriptedPart,
} from './agents/model/scripted/scripted.ts'
export type {
  ScriptedCall,
  ScriptedLanguageModel,
  ScriptedPrompt,
  ScriptedRequest,
  ScriptedResult,
} from './agents/model/scripted/scripted-call.ts'
export type { CallerOptions, CallerSettings, CallerTool } from './core/model/caller-options.ts'
export type { AgentTools, OpenTools, ToolGroup, ToolSource, ToolsOfRun } from './agents/model/tools/tool-sources.ts'
export { idempotent, type ToolContext } from './agents/model/tools/tools.ts'
export { team, type TeamDefinition, type TeamMode } from './agents/team/team.ts'
export type { FlexibleSchema, LanguageModel, ModelMessage, ToolSet } from './agents/model/sdk-types.ts'
