/** MCP tools. Each run has its own connections, which close when it ends or when they are idle. */
import type { Tool, ToolSet } from 'ai'
import type { MCPClient } from '@ai-sdk/mcp'
import { type RunContext, WorkError } from '../../../core/ports/component.ts'
import { HoldfastError, messageOf } from '../../../core/model/errors.ts'
import { optionalPackage } from '../../../core/runtime/optional-package.ts'
import type { OpenTools, ToolGroup, ToolSource } from './tool-sources.ts'

/** A process that speaks MCP over stdio, or a streamable HTTP endpoint. */
export type McpServer =
  | {
      readonly command: string
      readonly args?: readonly string[]
      readonly env?: Readonly<Record<string, string>>
      readonly cwd?: string
    }
  | { readonly url: string; readonly headers?: Readonly<Record<string, string>> }

export type McpServers = Readonly<Record<string, McpServer>>

/** Options of `mcp`. */
export interface McpOptions {
  /** Timeout for a server to start and list its tools. Default: 30,000. */
  readonly connectTimeoutMs?: number
  /** Timeout of one call. Default: 300,000. */
  readonly callTimeoutMs?: number
  /**
   * Closes a connection that is unused for this long; the next call reopens it. A run that waits for a person holds none.
   * Default: 10,000.
   */
  readonly idleTimeoutMs?: number
}

const CALL_TIMEOUT_MS = 5 * 60_000
const IDLE_MS = 10_000
const CONNECT_TIMEOUT_MS = 30_000
const TOOL_PAGES_MAX = 100

/** Servers by name, or a function of the context if they depend on the run, such as tokens per user. */
export function mcp(
  servers: McpServers | ((context: RunContext) => McpServers | Promise<McpServers>),
  options: McpOptions = {},
): ToolSource {
  return {
    async open(context) {
      const serverList = typeof servers === 'function' ? await servers(context) : servers
      const connections = Object.entries(serverList).map(
        ([name, server]) => new Connection(name, server, context, options),
      )
      return openAll(connections)
    },
  }
}

async function openAll(connections: readonly Connection[]): Promise<OpenTools> {
  const close = async (): Promise<void> => void (await Promise.all(connections.map((each) => each.close())))
  try {
    const groups = await Promise.all(connections.map(toolsOf))
    return { groups, close }
  } catch (thrown) {
    await close()
    throw thrown
  }
}

type Definitions = Awaited<ReturnType<MCPClient['listTools']>>

async function toolsOf(connection: Connection): Promise<ToolGroup> {
  const { name, signal } = connection
  try {
    return await connection.use(async (client) => {
      const bounded = { signal: AbortSignal.any([signal, AbortSignal.timeout(connection.connectTimeoutMs)]) }
      const tools: Definitions['tools'] = []
      let cursor: string | undefined
      for (let page = 0; page < TOOL_PAGES_MAX; page++) {
        const params = cursor === undefined ? {} : { params: { cursor } }
        const listed: Definitions = await client.listTools({ ...params, options: bounded })
        tools.push(...listed.tools)
        cursor = listed.nextCursor
        if (cursor === undefined) break
      }
      const sdkTools = client.toolsFromDefinitions({ tools }) as Record<string, Tool>
      return { name, tools: callingThrough(connection, sdkTools) }
    })
  } catch (thrown) {
    if (signal.aborted || thrown instanceof HoldfastError) throw thrown
    throw new WorkError({
      code: 'agent_failed',
      message: `the MCP server ${name} cannot be used: ${messageOf(thrown)}`,
      retryable: true,
      details: { reason: 'mcp_unavailable', server: name },
    })
  }
}

/** The SDK's tools are bound to a connection that may be closed by the time they are called. */
function callingThrough(connection: Connection, tools: Record<string, Tool>): ToolSet {
  const timeout = connection.callTimeoutMs
  const entries = Object.entries(tools).map(([name, tool]) => {
    const execute: Tool['execute'] = async (input: unknown, { abortSignal }) => {
      const options = { timeout, maxTotalTimeout: timeout, ...(abortSignal !== undefined && { signal: abortSignal }) }
      const call = { name, arguments: input as Record<string, unknown>, options }
      const result = await connection.use((client) => client.callTool(call))
      if (result.isError === true) throw new Error(textOf(result) ?? `the tool ${name} failed`)
      return result
    }
    return [name, { ...tool, execute }] as const
  })
  return Object.fromEntries(entries)
}

function textOf(result: object): string | undefined {
  const { content } = result as { content?: unknown }
  if (!Array.isArray(content)) return undefined
  const texts = content.flatMap((part: { type?: unknown; text?: unknown }) => (part.type === 'text' ? [part.text] : []))
  return texts.length === 0 ? undefined : texts.join('\n')
}

/** A lazily opened connection to one server. */
class Connection {
  readonly name: string
  readonly signal: AbortSignal
  readonly connectTimeoutMs: number
  readonly callTimeoutMs: number
  readonly #server: McpServer
  readonly #idleTimeoutMs: number
  #client: Promise<MCPClient> | undefined
  #users = 0
  #closed = false
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(name: string, server: McpServer, { signal }: RunContext, options: McpOptions) {
    this.name = name
    this.signal = signal
    this.#server = server
    this.connectTimeoutMs = options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS
    this.callTimeoutMs = options.callTimeoutMs ?? CALL_TIMEOUT_MS
    this.#idleTimeoutMs = options.idleTimeoutMs ?? IDLE_MS
  }

  async use<Result>(work: (client: MCPClient) => Promise<Result>): Promise<Result> {
    if (this.#closed) throw new Error(`the connection to the MCP server ${this.name} is closed`)
    clearTimeout(this.#timer)
    this.#users++
    let sound = false
    try {
      this.#client ??= connect(this.#server, this.signal, this.connectTimeoutMs)
      const result = await work(await this.#client)
      sound = true
      return result
    } finally {
      this.#users--
      // It is unknown whether the call or the connection failed, so the next call gets a new connection.
      if (this.#users === 0) {
        if (sound && !this.#closed) this.#timer = setTimeout(() => void this.#disconnect(), this.#idleTimeoutMs)
        else await this.#disconnect()
      }
    }
  }

  async close(): Promise<void> {
    this.#closed = true
    clearTimeout(this.#timer)
    await this.#disconnect()
  }

  async #disconnect(): Promise<void> {
    const client = this.#client
    this.#client = undefined
    try {
      await (await client)?.close()
    } catch {
      // It never opened or is closed already; the call that used it reports that.
    }
  }
}

async function connect(server: McpServer, signal: AbortSignal, timeoutMs: number): Promise<MCPClient> {
  const { createMCPClient } = await loadMcp(
    () => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ '@ai-sdk/mcp'),
  )
  return createMCPClient({
    transport: await transportOf(server),
    clientName: 'holdfast',
    initializationOptions: { signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]) },
    onUncaughtError: () => {}, // the call that it breaks reports it
  })
}

type Transport = Parameters<typeof import('@ai-sdk/mcp').createMCPClient>[0]['transport']

async function transportOf(server: McpServer): Promise<Transport> {
  if ('url' in server)
    return { type: 'http', url: server.url, ...(server.headers && { headers: { ...server.headers } }) }
  const { Experimental_StdioMCPTransport: StdioTransport } = await loadMcp(
    () => import(/* webpackIgnore: true */ /* turbopackIgnore: true */ /* @vite-ignore */ '@ai-sdk/mcp/mcp-stdio'),
  )
  const { command, args, env, cwd } = server
  return new StdioTransport({
    command,
    ...(args !== undefined && { args: [...args] }),
    ...(env !== undefined && { env: { ...env } }),
    ...(cwd !== undefined && { cwd }),
  })
}

function loadMcp<Module>(load: () => Promise<Module>): Promise<Module> {
  return optionalPackage('a tool of an MCP server', '@ai-sdk/mcp', load)
}
