/** Sources of an agent's tools: static, created per run, or opened for a run and closed when it ends. */
import type { RunContext } from '../../../core/ports/component.ts'
import type { ToolSet } from '../sdk-types.ts'

/** Tools that must be opened before use, such as those of an MCP server. */
export interface ToolSource {
  open(context: RunContext): Promise<OpenTools>
}

/** Tools that a source opened for one run. */
export interface OpenTools {
  readonly groups: readonly ToolGroup[]
  close(): Promise<void>
}

/** On a name collision, the tools of a named group get the group's name as prefix. */
export interface ToolGroup {
  readonly name?: string
  readonly tools: ToolSet
}

export type ToolsOfRun = (context: RunContext) => ToolSet | Promise<ToolSet>

export type AgentTools = ToolSet | ToolSource | ToolsOfRun | readonly (ToolSet | ToolSource | ToolsOfRun)[]

export interface RunTools {
  readonly tools: ToolSet
  readonly close: () => Promise<void>
}

/** Opens all sources; if one fails, closes the others. */
export async function openTools(tools: AgentTools | undefined, context: RunContext): Promise<RunTools> {
  const sources = tools === undefined ? [] : isList(tools) ? tools : [tools]
  const settled = await Promise.allSettled(sources.map((source) => open(source, context)))
  const opened = settled.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
  const close = async (): Promise<void> => void (await Promise.allSettled(opened.map((each) => each.close())))
  try {
    for (const result of settled) if (result.status === 'rejected') throw result.reason
    return { tools: toToolSet(opened.flatMap(({ groups }) => groups)), close }
  } catch (thrown) {
    await close()
    throw thrown
  }
}

async function open(source: ToolSet | ToolSource | ToolsOfRun, context: RunContext): Promise<OpenTools> {
  if (isSource(source)) return source.open(context)
  const tools = typeof source === 'function' ? await source(context) : source
  return { groups: [{ tools }], close: async () => {} }
}

function isList(tools: AgentTools): tools is readonly (ToolSet | ToolSource | ToolsOfRun)[] {
  return Array.isArray(tools)
}

function isSource(source: ToolSet | ToolSource | ToolsOfRun): source is ToolSource {
  return typeof (source as Partial<ToolSource>).open === 'function'
}

function toToolSet(groups: readonly ToolGroup[]): ToolSet {
  const uses = new Map<string, number>()
  for (const { tools } of groups) for (const name of Object.keys(tools)) uses.set(name, (uses.get(name) ?? 0) + 1)
  const all: Record<string, ToolSet[string]> = {}
  for (const { name: group, tools } of groups) {
    for (const [own, tool] of Object.entries(tools)) {
      const name = group !== undefined && uses.get(own)! > 1 ? `${group}_${own}` : own
      if (Object.hasOwn(all, name)) throw new TypeError(`two tools of the agent have the name ${name}: rename one`)
      all[name] = tool
    }
  }
  return all
}
