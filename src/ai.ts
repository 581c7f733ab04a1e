/** Agents and teams on the AI SDK (`ai`, which the user installs). */
import { agent as generatorAgent, type AgentDefinition } from './agents/generator.ts'
import { modelAgent, type ModelAgentDefinition } from './agents/model/agent.ts'
import type { Component } from './core/ports/component.ts'
import type { ValueSchema } from './core/ports/schema.ts'

/** Defines an agent: on a language model, with `model`, or as an async generator, with `run`. */
export function agent(definition: ModelAgentDefinition): Component
export function agent<Input, Parsed = Input, Output = unknown>(
  definition: AgentDefinition<Input, Output, Parsed> & { readonly input: ValueSchema<Input, Parsed> },
): Component<Input, Output, Parsed>
export function agent<Input = string, Output = unknown>(
  definition: AgentDefinition<Input, Output>,
): Component<Input, Output>
export function agent(definition: ModelAgentDefinition | AgentDefinition): Component {
  return 'run' in definition ? generatorAgent(definition) : modelAgent(definition)
}

export type { ModelAgentDefinition } from './agents/model/agent.ts'
export type { AgentHistory } from './agents/model/history.ts'
export type { InputFile, ModelInput } from './agents/model/input.ts'
export { type ModelMaker, resumable } from './agents/model/reattach.ts'
export { mcp, type McpOptions, type McpServer, type McpServers } from './agents/model/mcp.ts'
export type { ModelSettings } from './agents/model/request.ts'
export {
  type ScriptedOutput,
  scriptedModel,
  type ScriptedModelOptions,
  type ScriptedPart,
} from './agents/model/scripted.ts'
export type { ScriptedCall, ScriptedResult } from './agents/model/scripted-call.ts'
export type { AgentTools, OpenTools, ToolGroup, ToolSource, ToolsOfRun } from './agents/model/tool-sources.ts'
export { idempotent, type ToolContext } from './agents/model/tools.ts'
export { team, type TeamDefinition, type TeamMode } from './agents/team/team.ts'
