/** A server for one test of this protocol, and the official clients of both revisions. */
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { ElicitRequestSchema, type ElicitRequest, type ElicitResult } from '@modelcontextprotocol/sdk/types.js'
import { onTestFinished } from 'vitest'
import { z } from 'zod'
import { agent } from '../../../src/agents/agent.ts'

/** Takes and returns an object. */
export const adder = agent({
  id: 'adder',
  description: 'Adds two numbers',
  input: z.object({ a: z.number(), b: z.number() }),
  output: z.object({ sum: z.number() }),
  // oxlint-disable-next-line require-yield -- it only returns
  async *run({ a, b }) {
    return { sum: a + b }
  },
})

export interface ConnectOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** Answers elicitations. Default: the client cannot. */
  readonly elicit?: (request: ElicitRequest) => ElicitResult | Promise<ElicitResult>
}

/** The client of `@modelcontextprotocol/sdk`, which speaks 2025-11-25. */
export async function connect(url: string, { headers = {}, elicit }: ConnectOptions = {}): Promise<Client> {
  const capabilities = elicit === undefined ? {} : { elicitation: {} }
  const client = new Client({ name: 'test', version: '1' }, { capabilities })
  if (elicit !== undefined) client.setRequestHandler(ElicitRequestSchema, elicit)
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), {
    requestInit: { headers: { ...headers } },
    reconnectionOptions: {
      initialReconnectionDelay: 50,
      maxReconnectionDelay: 500,
      reconnectionDelayGrowFactor: 1.2,
      maxRetries: 200,
    },
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return client
}

/** The client of `@modelcontextprotocol/client`, which speaks 2026-07-28. */
export async function connectModern(
  url: string,
  { elicit }: { readonly elicit?: () => { action: 'accept'; content: Record<string, string> } } = {},
): Promise<ModernClient> {
  const client = new ModernClient(
    { name: 'test', version: '1' },
    {
      capabilities: elicit === undefined ? {} : { elicitation: {} },
      versionNegotiation: { mode: { pin: '2026-07-28' } },
    },
  )
  if (elicit !== undefined) client.setRequestHandler('elicitation/create', elicit)
  await client.connect(new ModernTransport(new URL(`${url}/mcp`)))
  onTestFinished(() => client.close())
  return client
}

/** The text of a result. */
export function textOf(result: unknown): string {
  const { content } = result as { content: { type: string; text?: string }[] }
  return content.map(({ text = '' }) => text).join('')
}
