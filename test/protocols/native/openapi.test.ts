/** The OpenAPI document has exactly the routes of the server, and responses match it. */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { systemClock } from '../../../src/core/ports/clock.ts'
import { defaultLimits } from '../../../src/core/model/limits.ts'
import type { Route } from '../../../src/http/routing/route.ts'
import { Streams } from '../../../src/http/response/stream.ts'
import { nativeProtocol } from '../../../src/protocols/native/index.ts'
import { openApiDocument } from '../../../src/protocols/native/wire/openapi.ts'
import {
  componentShape,
  eventShape,
  answerBody,
  problemShape,
  renameBody,
  runShape,
  sessionShape,
  startBody,
  stopBody,
} from '../../../src/protocols/native/wire/shapes.ts'
import { createKey } from '../../../src/server/auth/api-keys.ts'
import { version } from '../../../src/server/version.ts'
import { followRun, startRun, untilFinished, untilStatus } from '../../support/http.ts'
import { temporaryFolder } from '../../support/temporary.ts'
import { type NativeServer, serveNative } from './serve.ts'

interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required?: boolean
}

interface Declared {
  readonly content?: Readonly<Record<string, { readonly schema: object }>>
  readonly $ref?: string
}

interface Operation {
  readonly parameters?: readonly Parameter[]
  readonly requestBody?: Declared
  readonly responses: Readonly<Record<string, Declared>>
  readonly security?: readonly object[]
}

type PathItem = Readonly<Record<'get' | 'post' | 'patch' | 'delete', Operation>> & {
  readonly parameters?: readonly Parameter[]
}

interface Document {
  readonly openapi: string
  readonly info: { readonly version: string }
  readonly paths: Readonly<Record<string, PathItem>>
  readonly components: { readonly schemas: Readonly<Record<string, object>> }
}

const document = JSON.parse(JSON.stringify(openApiDocument(version))) as Document

describe('OpenAPI: the document', () => {
  test('is served as OpenAPI 3.1 with the package’s version', async () => {
    const server = await serveNative()
    const served = (await (await fetch(`${server.url}/openapi.json`)).json()) as Document
    // Bodies of components are in test/protocols/published-schemas.test.ts.
    const general = Object.entries(served.components.schemas).filter(([name]) => !name.startsWith('Start.'))
    const described = { ...served.components, schemas: Object.fromEntries(general) }
    const paths = { ...served.paths, '/runs': { ...served.paths['/runs'], post: document.paths['/runs']!.post } }
    expect({ ...served, components: described, paths }).toEqual(document)
    expect(document.openapi).toMatch(/^3\.1\./)
    expect(document.info.version).toBe(version)
  })

  test('has exactly the routes that are served', async () => {
    const served = (await servedRoutes()).map(({ method, path }) => `${method} ${path}`)
    const declared = operations().map(({ method, path }) => `${method.toUpperCase()} ${path}`)
    expect(declared.toSorted()).toEqual(served.toSorted())
  })

  test('declares exactly the public routes as public', async () => {
    const served = (await servedRoutes()).filter((route) => route.public === true).map(({ path }) => path)
    const declared = operations().filter(({ operation }) => operation.security?.length === 0)
    expect(declared.map(({ path }) => path).toSorted()).toEqual(served.toSorted())
  })

  test('declares path parameters as required', () => {
    for (const { path, parameters } of operations()) {
      const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
      const declared = parameters.filter((parameter) => parameter.in === 'path')
      expect(declared.map(({ name }) => name)).toEqual(inPath)
      for (const { required } of declared) expect(required).toBe(true)
    }
  })

  test.each([
    ['query', /\bquery\.(?:get|getAll|has)\('(\w+)'\)|\breadNumber\([\w.]+, '(\w+)'/g],
    ['header', /\bheaders\['([\w-]+)'\]/g],
  ] as const)('declares exactly the parameters that are read from the %s', (place, pattern) => {
    const source = globSync('src/protocols/native/**/*.ts', { cwd: root, exclude: ['**/*.test.ts'] }).map((file) =>
      readFileSync(join(root, file), 'utf8'),
    )
    const read = source.flatMap((text) => [...text.matchAll(pattern)].map(([, first, second]) => first ?? second!))
    const declared = operations().flatMap(({ parameters }) => parameters.filter((parameter) => parameter.in === place))
    expect(new Set(declared.map(({ name }) => name.toLowerCase()))).toEqual(new Set(read))
  })

  test('describes every required property', () => {
    const undescribed = objectSchemas(document).flatMap(({ required = [], properties = {} }) =>
      required.filter((name) => !Object.hasOwn(properties, name)),
    )
    expect(undescribed).toEqual([])
  })

  test('has no dangling reference', () => {
    expect(references(document).filter((reference) => !leadsSomewhere(reference))).toEqual([])
  })

  test.each(
    Object.entries({
      Start: startBody,
      Stop: stopBody,
      Answers: answerBody,
      Run: runShape,
      Rename: renameBody,
      Session: sessionShape,
      Event: eventShape,
      Component: componentShape,
      Problem: problemShape,
    }),
  )('has the shape %s as the server validates it', (name, shape) => {
    const { $schema: _dialect, ...schema } = z.toJSONSchema(shape, { io: 'input', reused: 'inline' })
    expect(document.components.schemas[name]).toEqual(JSON.parse(JSON.stringify(schema)))
  })
})

const sse = { headers: { accept: 'text/event-stream' } }

function json(body: unknown): RequestInit {
  return { method: 'POST', body: JSON.stringify(body) }
}

describe('OpenAPI: real responses', () => {
  const seen = new Set<string>()

  /** Sends a request, and checks that the response is declared: status, type and shape. */
  async function expectDeclared(
    server: NativeServer & { readonly token?: string },
    name: string,
    target: string,
    init: RequestInit = {},
  ): Promise<Response> {
    const [method, path] = name.split(' ') as [string, string]
    const headers = {
      ...(init.body !== undefined && { 'content-type': 'application/json' }),
      ...(server.token !== undefined && { authorization: `Bearer ${server.token}` }),
    }
    const answer = await fetch(server.url + target, {
      ...init,
      method,
      headers: { ...headers, ...(init.headers as Record<string, string>) },
    })
    seen.add(`${name} ${answer.status}`)
    const operation = document.paths[path]![method.toLowerCase() as 'get']
    const declared = resolved(operation.responses[answer.status])
    expect(declared, `${name} answered ${answer.status}, which is not declared`).toBeDefined()
    const [type] = (answer.headers.get('content-type') ?? 'none').split(';') as [string]
    expect(Object.keys(declared!.content ?? { none: {} }), `${name} ${answer.status}`).toContain(type)
    const text = await answer.clone().text()
    if (type === 'application/json' || type === 'application/problem+json')
      shapeOf(declared!.content![type]!.schema).parse(JSON.parse(text))
    return answer
  }

  test('responses for a run that is started, read, answered, stopped and removed are as declared', async () => {
    const server = await serveSmall()
    await expectDeclared(server, 'GET /components', '/components')
    await expectDeclared(server, 'GET /components', '/components?format=yaml') // 400
    await expectDeclared(server, 'GET /health', '/health')
    await expectDeclared(server, 'GET /health/ready', '/health/ready')
    await expectDeclared(server, 'GET /openapi.json', '/openapi.json')
    await expectDeclared(server, 'GET /metrics', '/metrics')
    await expectDeclared(server, 'GET /admin/metrics', '/admin/metrics')
    await expectDeclared(
      server,
      'POST /runs',
      '/runs',
      json({ component: 'lab', input: 'ask Go on?; complete well', metadata: { a: [1] }, session: 's' }),
    )
    const started = (await (await expectDeclared(server, 'GET /runs', '/runs?limit=1')).json()) as {
      runs: { id: string }[]
    }
    const { id } = started.runs[0]!
    await untilStatus(server, id, ['paused'])
    await expectDeclared(server, 'GET /runs/{id}', `/runs/${id}`)
    const shares = 'POST /runs/{id}/shares'
    const made = await expectDeclared(server, shares, `/runs/${id}/shares`, json({ can: ['read', 'stop'] }))
    const { id: share, path: link } = (await made.json()) as { id: string; path: string }
    await expectDeclared(server, 'GET /runs/{id}/shares', `/runs/${id}/shares`)
    await expectDeclared(server, 'GET /runs/{id}', link.replace('/events', ''))
    await expectDeclared(server, 'GET /runs/{id}/events', link, {
      headers: { accept: 'text/html' },
      redirect: 'manual',
    })
    const revoked = 'DELETE /runs/{id}/shares/{share}'
    await expectDeclared(server, revoked, `/runs/${id}/shares/${share}`)
    await expectDeclared(server, revoked, `/runs/${id}/shares/${share}`) // 404
    await expectDeclared(server, shares, `/runs/${id}/shares`, json({}))
    await expectDeclared(server, shares, `/runs/${id}/shares`, json({})) // 507
    await expectDeclared(server, 'DELETE /runs/{id}', `/runs/${id}`) // 409
    await expectDeclared(server, 'POST /runs/{id}/answers', `/runs/${id}/answers`, json({ answer: { yes: true } }))
    await untilFinished(server, id)
    await expectDeclared(server, 'GET /runs/{id}', `/runs/${id}`)
    for (const format of ['sse', 'json', 'ndjson'])
      await expectDeclared(server, 'GET /runs/{id}/events', `/runs/${id}/events?format=${format}`)
    await expectDeclared(server, 'GET /runs/{id}/events', `/runs/${id}/events?after=99`) // 400
    await expectDeclared(server, 'GET /runs/{id}/events', `/runs/${id}/events?after=1~00000000`) // 409
    for (const query of ['snapshot=1', 'tail=1', 'types=tool.*', 'actors=lab'])
      await expectDeclared(server, 'GET /runs/{id}/events', `/runs/${id}/events?format=json&${query}`)
    await expectDeclared(server, 'POST /runs', '/runs', { ...json({ component: 'lab', input: 'throw boom' }), ...sse })
    await expectDeclared(server, 'GET /runs/{id}/links', `/runs/${id}/links`)
    await expectDeclared(server, 'GET /runs/{id}/links', `/runs/${id}/links?protocol=agentos`) // 400
    await server.store.trim(id, 3)
    await expectDeclared(server, 'GET /runs/{id}/links', `/runs/${id}/links?protocol=agentos&position=0`) // 410
    await expectDeclared(server, 'GET /runs/{id}/events', `/runs/${id}/events?after=0`) // 410
    await expectDeclared(server, 'GET /runs/{id}/events', `/runs/${id}/events?format=json`)
    await expectDeclared(server, 'POST /runs/{id}/stop', `/runs/${id}/stop`, json({ reason: 'late' }))
    const { events } = (await (await expectDeclared(server, 'GET /runs/{id}', `/runs/${id}`)).json()) as {
      events: number
    }
    await expectDeclared(server, 'GET /runs/{id}/events', `/runs/${id}/events?after=${events - 1}`) // 204
    await expectDeclared(server, 'DELETE /runs/{id}', `/runs/${id}`)
    await expectDeclared(server, 'GET /runs', '/runs?status=failed&component=lab')
  })

  test('responses to invalid requests are as declared', async () => {
    const server = await serveSmall()
    const { id } = await startRun(server, 'ignore-abort; hang')
    await untilStatus(server, id, ['running'])
    const stream = followRun(server, id)
    await stream.status()
    await expectDeclared(server, 'GET /runs/{id}/events', `/runs/${id}/events`) // 429
    await expectDeclared(server, 'POST /runs/{id}/stop', `/runs/${id}/stop`, { method: 'POST' }) // 202
    await expectDeclared(server, 'POST /runs', '/runs', json({}))
    await expectDeclared(server, 'POST /runs', '/runs', json({ component: 'nobody', input: '' }))
    await expectDeclared(server, 'POST /runs', '/runs', {
      ...json({ component: 'lab', input: '' }),
      headers: { 'idempotency-key': 'k' },
    })
    await expectDeclared(server, 'POST /runs', '/runs', {
      ...json({ component: 'lab', input: 'text 1' }),
      headers: { 'idempotency-key': 'k' },
    })
    for (let count = 0; count < 2; count++)
      await expectDeclared(server, 'POST /runs', '/runs', json({ component: 'lab', input: 'hang' }))
    await expectDeclared(server, 'POST /runs', '/runs', json({ component: 'lab', input: 'hang' })) // 429
    await expectDeclared(server, 'GET /runs', '/runs?cursor=x')
    await expectDeclared(server, 'POST /runs/{id}/answers', `/runs/${id}/answers`, json({ answer: 1 }))
    await expectDeclared(server, 'POST /runs/{id}/answers', `/runs/${id}/answers`, json({}))
    await expectDeclared(server, 'POST /runs/{id}/stop', `/runs/${id}/stop`, json({ reason: 7 }))
    for (const name of [
      'GET /runs/{id}',
      'DELETE /runs/{id}',
      'GET /runs/{id}/events',
      'GET /runs/{id}/links',
      'POST /runs/{id}/stop',
    ]) {
      await expectDeclared(server, name, name.split(' ')[1]!.replace('{id}', 'run_0'))
    }
    await expectDeclared(server, 'POST /runs/{id}/answers', '/runs/run_0/answers', json({ answer: 1 }))
    await expectDeclared(server, 'POST /runs/{id}/shares', `/runs/${id}/shares`, json({ can: [] }))
    await expectDeclared(server, 'POST /runs/{id}/shares', '/runs/run_0/shares', json({}))
    await expectDeclared(server, 'GET /runs/{id}/shares', '/runs/run_0/shares')
    const large = json({ component: 'lab', input: 'x'.repeat(2000) })
    await expectDeclared(server, 'POST /runs', '/runs', large)
    stream.cut()
  })

  test('the response to a snapshot that is too large is as declared', async () => {
    const server = await serveNative({ limits: { maxResponseBytes: 1024 } })
    const { id } = await startRun(server, 'big 3')
    await untilFinished(server, id)
    await expectDeclared(server, 'GET /runs/{id}/events', `/runs/${id}/events?snapshot=1`) // 413
  })

  test('responses for a forgotten principal and for one over its storage quota are as declared', async () => {
    const server = await serveSmall()
    const forget = (body: unknown): Promise<Response> =>
      expectDeclared(server, 'POST /admin/forget', '/admin/forget', json(body))
    await forget({ principal: 'anna' })
    await forget({})
    await forget({ principal: 'x'.repeat(2000) }) // 413
    const { id } = await startRun(server, 'ask Go on?')
    await untilStatus(server, id, ['paused'])
    await forget({ principal: 'local' }) // 409
    const keys = `${temporaryFolder()}/keys.json`
    const { key: token } = await createKey(keys, { name: 'ci' })
    const limits = { maxStoredBytesPerPrincipal: 1 }
    const full = await serveNative({ auth: { keys }, limits })
    await startRun({ url: full.url, token }, 'text 1')
    const start = json({ component: 'lab', input: 'text 1' })
    await expectDeclared({ ...full, token }, 'POST /runs', '/runs', start) // 507
  })

  const [GET_SESSION, RENAME, REMOVE] = ['GET', 'PATCH', 'DELETE'].map(
    (method) => `${method} /native/sessions/{id}`,
  ) as [string, string, string]

  test('responses for a session that is listed, renamed and removed are as declared', async () => {
    const server = await serveSmall()
    await untilFinished(server, (await startRun(server, 'text 1', { session: 's' })).id)
    const list = (query: string): Promise<Response> =>
      expectDeclared(server, 'GET /native/sessions', `/native/sessions${query}`)
    await list('?component=lab&limit=1')
    await list('?limit=1')
    await list('?cursor=none') // 400
    await expectDeclared(server, GET_SESSION, '/native/sessions/s')
    await expectDeclared(server, `${GET_SESSION}/events`, '/native/sessions/s/events')
    await expectDeclared(server, `${GET_SESSION}/events`, '/native/sessions/s/events?after=-') // 400
    await expectDeclared(server, RENAME, '/native/sessions/s', json({ name: 'kelp' }))
    await expectDeclared(server, RENAME, '/native/sessions/s', json({ name: '' })) // 400
    await expectDeclared(server, RENAME, '/native/sessions/s', json({ name: 'x'.repeat(2000) })) // 413
    await expectDeclared(server, REMOVE, '/native/sessions/s')
    for (const name of [GET_SESSION, REMOVE]) await expectDeclared(server, name, '/native/sessions/s') // 404
    await expectDeclared(server, RENAME, '/native/sessions/s', json({ name: 'kelp' })) // 404
    const small = await serveNative({ limits: { maxResponseBytes: 10 } })
    await startRun(small, 'text 1')
    await expectDeclared(small, 'GET /native/sessions', '/native/sessions') // 413
  })

  test('responses for a session that others keep changing, or whose run does not stop, are as declared', async () => {
    const server = await serveNative({ limits: { stopGraceMs: 20, leaseMs: 300, pollIntervalMs: 20 } })
    const { id } = await startRun(server, 'hang', { session: 's' })
    await untilStatus(server, id, ['running'])
    const { documents } = server.store
    const put = documents.put.bind(documents)
    documents.put = async (draft, expected) => {
      await put({ ...draft, title: 'of somebody else' })
      return put(draft, expected)
    }
    await expectDeclared(server, RENAME, '/native/sessions/s', json({ name: 'kelp' })) // 409
    const { store } = server
    const requestStop = store.requestStop.bind(store)
    store.requestStop = (run) => store.get(run)
    await expectDeclared(server, REMOVE, '/native/sessions/s') // 409
    store.requestStop = requestStop
  })

  test.each(['POST /runs/{id}/stop', 'POST /runs/{id}/answers', 'POST /runs/{id}/shares'])(
    'responses to a body that is too large are as declared: %s',
    async (name) => {
      const server = await serveSmall()
      const { id } = await startRun(server, 'text 1')
      const path = name.split(' ')[1]!.replace('{id}', id)
      await expectDeclared(server, name, path, json({ reason: 'x'.repeat(2000) }))
    },
  )

  test('responses to an unauthenticated client and to a page of another site are as declared', async () => {
    const keys = `${temporaryFolder()}/keys.json`
    await createKey(keys, { name: 'ci' })
    const server = await serveNative({ auth: { keys } })
    for (const { path, method, operation } of operations()) {
      if (operation.security?.length === 0) continue
      await expectDeclared(server, `${method.toUpperCase()} ${path}`, path.replace('{id}', 'run_0'))
    }
    await expectDeclared(server, 'POST /runs', '/runs', {
      ...json({}),
      headers: { origin: 'http://elsewhere.example' },
    })
  })

  test('responses of an unavailable store are as declared', async () => {
    const server = await serveNative({ store: 'sqlite' })
    await server.store.close()
    for (const name of [
      'GET /runs',
      'GET /runs/{id}',
      'DELETE /runs/{id}',
      'GET /runs/{id}/events',
      'POST /runs/{id}/stop',
    ]) {
      await expectDeclared(server, name, name.split(' ')[1]!.replace('{id}', 'run_0'))
    }
    await expectDeclared(server, 'POST /runs', '/runs', json({ component: 'lab', input: '' }))
    await expectDeclared(server, 'POST /runs/{id}/answers', '/runs/run_0/answers', json({ answer: 1 }))
  })

  test('were seen for every declared status', () => {
    const declared = operations().flatMap(({ method, path, operation }) =>
      Object.keys(operation.responses).map((status) => `${method.toUpperCase()} ${path} ${status}`),
    )
    // What any route can answer was seen on some of them.
    const common = / (401|403|405|429|500|503)$/
    expect(declared.filter((each) => !seen.has(each) && !common.test(each))).toEqual([])
  })
})

const root = join(import.meta.dirname, '../../..')

/** Low limits, so that each can be reached. */
function serveSmall(): Promise<NativeServer> {
  return serveNative({
    limits: {
      maxSubscribersPerRun: 1,
      maxConcurrentRuns: 2,
      maxQueuedRuns: 1,
      maxBodyBytes: 1000,
      maxSharesPerRun: 1,
      stopGraceMs: 60_000,
    },
  })
}

async function servedRoutes(): Promise<readonly Route[]> {
  const { service } = await serveNative()
  const streams = new Streams(defaultLimits, systemClock)
  const { routes } = nativeProtocol(service, streams, version)
  streams.closeAll('it was only asked for its routes')
  return routes
}

function operations() {
  return Object.entries(document.paths).flatMap(([path, { parameters: shared = [], ...methods }]) =>
    Object.entries(methods).map(([method, operation]) => ({
      path,
      method,
      operation,
      parameters: [...shared, ...(operation.parameters ?? [])],
    })),
  )
}

interface ObjectSchema {
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, object>>
}

function objectSchemas(value: unknown): ObjectSchema[] {
  if (typeof value !== 'object' || value === null) return []
  const own = 'type' in value && value.type === 'object' ? [value as ObjectSchema] : []
  return [...own, ...Object.values(value).flatMap(objectSchemas)]
}

function references(value: unknown): string[] {
  if (typeof value !== 'object' || value === null) return []
  const own = '$ref' in value && typeof value.$ref === 'string' ? [value.$ref] : []
  return [...own, ...Object.values(value).flatMap(references)]
}

function leadsSomewhere(reference: string): boolean {
  return reference.startsWith('#/') && at(reference) !== undefined
}

/** Resolves a reference of the document. */
function at(reference: string): unknown {
  const keys = reference.slice(2).split('/')
  return keys.reduce<unknown>(
    (value, key) => (value as Record<string, unknown> | undefined)?.[key.replaceAll('~1', '/').replaceAll('~0', '~')],
    document,
  )
}

function resolved(declared: Declared | undefined): Declared | undefined {
  return declared?.$ref === undefined ? declared : (at(declared.$ref) as Declared)
}

/** A check of a schema with its references resolved. Response schemas are not recursive. */
function shapeOf(schema: object): z.ZodType {
  return z.fromJSONSchema(inlined(schema) as Parameters<typeof z.fromJSONSchema>[0])
}

function inlined(value: unknown): unknown {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(inlined)
  if ('$ref' in value) return inlined(at(value.$ref as string))
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, inlined(item)]))
}
