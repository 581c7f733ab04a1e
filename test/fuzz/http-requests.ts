/** Arbitrary requests for every route: parameters and bodies from the OpenAPI document and the schemas of the protocols, or at random. */
import fc from 'fast-check'
import { z } from 'zod'
import { runBody } from '../../src/protocols/ag-ui/requests/shapes.ts'
import { chatBody as uiChatBody, stopBody } from '../../src/protocols/ai-sdk/requests/shapes.ts'
import { methods } from '../../src/protocols/a2a/requests/methods.ts'
import { listRequest, pushConfigRequest, sendRequest, taskRequest } from '../../src/protocols/a2a/requests/shapes.ts'
import { callParams, initializeParams, updateParams } from '../../src/protocols/mcp/requests/shapes.ts'
import { openApiDocument } from '../../src/protocols/native/wire/openapi.ts'
import { completionBody } from '../../src/protocols/openai/chat/shapes.ts'
import { addBody, conversationBody, conversationUpdate } from '../../src/protocols/openai/conversations/shapes.ts'
import { compactBody, responseBody } from '../../src/protocols/openai/responses/shapes.ts'
import type { FuzzedRoute } from './messages.ts'
import { mutations } from './mutation.ts'
import type { FuzzedBody, FuzzedRequest } from './request.ts'
import { fitting, type Schema } from './schema.ts'
import { fieldName, json, jsonText, text } from './values.ts'

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly schema: Schema
}

interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: { readonly content: Readonly<Record<string, { readonly schema: Schema }>> }
}

interface OpenApi {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation | undefined>>>>
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> }
}

const openApi = JSON.parse(JSON.stringify(openApiDocument('0.0.0'))) as OpenApi

const subscriptionBody = z.object({
  type: z.enum(['webhook', 'pull-wake']),
  pattern: z.string().optional(),
  streams: z.array(z.string()).optional(),
  webhook: z.object({ url: z.string() }).optional(),
  wake_stream: z.string().optional(),
  lease_ttl_ms: z.number().optional(),
  description: z.string().optional(),
})

const wakeBody = z.object({
  wake_id: z.string(),
  generation: z.number(),
  acks: z.array(z.object({ stream: z.string(), offset: z.string() })).optional(),
  done: z.boolean().optional(),
})

/** Bodies of the other protocols, by route. */
const schemas: readonly (readonly [RegExp, Schema])[] = (
  [
    [/^POST \/v1\/chat\/completions$/, completionBody],
    [/^POST \/v1\/responses$/, responseBody],
    [/^POST \/v1\/responses\/compact$/, compactBody],
    [/^POST \/v1\/conversations\/\{id\}\/items$/, addBody],
    [/^POST \/v1\/conversations$/, conversationBody],
    [/^POST \/v1\/conversations\/\{id\}$/, conversationUpdate],
    [/^POST \/ai\/\{component\}\/chat$/, uiChatBody],
    [/^POST \/ai\/.*\/stop$/, stopBody],
    [/^POST \/ag-ui\/\{component\}$/, runBody],
    [/^POST \/a2a\/.*message:(send|stream)$/, sendRequest],
    [/^POST \/a2a\/.*pushNotificationConfigs$/, pushConfigRequest],
    [/^PUT \/v1\/stream\/__ds\//, subscriptionBody],
    [/^POST \/v1\/stream\/__ds\/.*\/(ack|callback|release)$/, wakeBody],
    [/^POST \/v1\/stream\/__ds\/.*\/streams$/, z.object({ streams: z.array(z.string()) })],
    [/^POST \/v1\/stream\/__ds\/.*\/claim$/, z.object({ worker: z.string() })],
  ] as const
).map(([pattern, shape]) => [pattern, toSchema(shape)] as const)

const rpcParams = [sendRequest, taskRequest, listRequest, pushConfigRequest].map(toSchema)

function toSchema(shape: z.ZodType): Schema {
  return z.toJSONSchema(shape, { io: 'input', unrepresentable: 'any', reused: 'inline' }) as Schema
}

const rpcBody = fc.record(
  {
    jsonrpc: fc.oneof({ weight: 8, arbitrary: fc.constant<unknown>('2.0') }, { weight: 1, arbitrary: json }),
    id: fc.oneof({ weight: 4, arbitrary: fc.constant<unknown>(1) }, { weight: 1, arbitrary: json }),
    method: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom<unknown>(...Object.keys(methods), 'message/send', 'tasks/get') },
      { weight: 1, arbitrary: json },
    ),
    params: fc.oneof(...rpcParams.map((schema) => fitting(schema)), json),
  },
  { requiredKeys: ['jsonrpc', 'method'] },
)

const MCP_METHODS = [
  'initialize',
  'tools/list',
  'tools/call',
  'tasks/get',
  'tasks/result',
  'tasks/list',
  'tasks/cancel',
]
const mcpParams = [callParams, initializeParams, updateParams, taskRequest].map(toSchema)

const mcpBody = fc.record(
  {
    jsonrpc: fc.constant('2.0'),
    id: fc.oneof({ weight: 4, arbitrary: fc.constant<unknown>(1) }, { weight: 1, arbitrary: json }),
    method: fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom<unknown>(...MCP_METHODS) },
      { weight: 1, arbitrary: json },
    ),
    params: fc.oneof(...mcpParams.map((schema) => fitting(schema)), json),
    result: json,
  },
  { requiredKeys: ['jsonrpc'] },
)

function schemaBody(route: FuzzedRoute): fc.Arbitrary<unknown> | undefined {
  const name = `${route.method} ${route.path}`
  if (/^POST \/a2a\/\{component\}(\/\{tenant\})?\/?$/.test(name)) return rpcBody
  if (name === 'POST /mcp') return mcpBody
  const declared = openApi.paths[route.path]?.[route.method.toLowerCase()]?.requestBody?.content['application/json']
  const schema = declared?.schema ?? schemas.find(([pattern]) => pattern.test(name))?.[1]
  return schema && fitting(schema, openApi.components.schemas)
}

function body(route: FuzzedRoute): fc.Arbitrary<FuzzedBody> {
  const none = fc.constant<FuzzedBody>({ kind: 'none' })
  if (route.method === 'GET') return none
  const fromSchema = schemaBody(route)
  const fields = fc.array(fc.tuple(fieldName, fc.oneof(text, json.map(jsonText))), { maxLength: 6 })
  return fc.oneof(
    { weight: 5, arbitrary: mutations.map((changes) => ({ kind: 'mutated' as const, changes })) },
    ...(fromSchema === undefined
      ? []
      : [{ weight: 5, arbitrary: fromSchema.map((value) => ({ kind: 'json' as const, value })) }]),
    { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('form' as const, 'multipart' as const), fields }) },
    { weight: 1, arbitrary: json.map((value) => ({ kind: 'json' as const, value })) },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('text' as const), text }) },
    { weight: 1, arbitrary: none },
  )
}

/** Numbers as query strings have them, positions that may be in a log among them. */
const position = fc.oneof(
  fc.integer({ min: -2, max: 12 }).map(String),
  fc.constantFrom('now', 'sse', 'long-poll', '0000000000000003_0000000000000000'),
  fc.constantFrom('12345678901234567890', '0', '-1', '3~00000000', '0~cbf43926', 'run_x:1', ':1', '1e3', '٣'),
)

function query(route: FuzzedRoute): fc.Arbitrary<[string, string][]> {
  const declared = openApi.paths[route.path]?.[route.method.toLowerCase()]?.parameters ?? []
  const known = [
    ...declared.filter(({ in: where }) => where === 'query').map(({ name }) => name),
    ...(route.protocol === 'durable-streams' ? ['offset', 'live', 'cursor'] : []),
  ]
  const name =
    known.length === 0
      ? fieldName
      : fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...known) }, { weight: 1, arbitrary: fieldName })
  return fc.array(fc.tuple(name, fc.oneof(position, text)), { maxLength: 4 })
}

/** Characters that Node's client can send in a header. */
const headerText = text.map((value) => value.replaceAll(/[^\u0020-\u007e\u00a0-\u00ff]/g, '').slice(0, 2000))

const headers: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom(
    'accept',
    'content-type',
    'content-encoding',
    'idempotency-key',
    'last-event-id',
    'a2a-version',
    'a2a-extensions',
    'x-forwarded-for',
    'x-forwarded-host',
    'x-forwarded-proto',
    'x-forwarded-prefix',
    'range',
    'if-none-match',
    'cookie',
    'expect',
    'origin',
    'host',
    'prefer',
    'producer-id',
    'producer-epoch',
    'producer-seq',
    'stream-seq',
    'stream-closed',
    'stream-ttl',
    'stream-expires-at',
    'stream-forked-from',
    'stream-fork-offset',
    'stream-fork-sub-offset',
    'mcp-protocol-version',
    'mcp-session-id',
  ),
  fc.oneof(
    headerText,
    position.map((value) => value.replaceAll(/[^ -~]/g, '')),
    fc.constantFrom('true', '0', '/v1/stream/news', '0000000000000003_0000000000000000', '2030-01-01T00:00:00Z'),
    fc.constantFrom('text/event-stream', 'application/x-ndjson', 'application/json', '*/*', 'gzip', '0.3', '1.0'),
  ),
  { maxKeys: 3 },
)

/** Paths that only report an AgentOS feature as unsupported. */
const NOT_HERE = /\{part0\}/

/** A request for any of these routes. */
export function requestsFor(routes: readonly FuzzedRoute[]): fc.Arbitrary<FuzzedRequest> {
  return fc.oneof(...routes.map((route) => ({ weight: weightOf(route), arbitrary: requestFor(route) })))
}

/** Routes with more input are tried more often. */
function weightOf({ protocol, method, path }: FuzzedRoute): number {
  if (NOT_HERE.test(path)) return 1
  // Few routes, in which headers and queries choose between many ways.
  if ((protocol === 'durable-streams' && !path.includes('/__ds/')) || protocol === 'mcp') return 100
  return method === 'GET' || method === 'DELETE' ? 10 : 30
}

function requestFor(route: FuzzedRoute): fc.Arbitrary<FuzzedRequest> {
  const names = [...route.path.matchAll(/\{(\w+)\*?\}/g)].map(([, name]) => name!)
  // A parameter that is not the subject's leads to 404 most of the time, so most requests have none.
  const params =
    names.length === 0
      ? fc.constant({})
      : fc.oneof(
          { weight: 4, arbitrary: fc.constant({}) },
          { weight: 1, arbitrary: fc.dictionary(fc.constantFrom(...names), text, { maxKeys: names.length }) },
        )
  return fc.record({
    route: fc.constant(route),
    subject: fc.constantFrom('completed', 'paused'),
    params,
    query: query(route),
    headers: fc.oneof({ weight: 2, arbitrary: fc.constant({}) }, { weight: 1, arbitrary: headers }),
    authorized: fc.oneof({ weight: 12, arbitrary: fc.constant(true) }, { weight: 1, arbitrary: fc.constant(false) }),
    body: body(route),
  })
}
