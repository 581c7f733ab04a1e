/**
 * Every route of every protocol with every kind of credential. The routes come from the protocols as the server mounts them: a new one
 * is included automatically, and fails here until `requests.ts` can call it.
 */
import { expect, test } from 'vitest'
import type { Route } from '../../src/http/routing/route.ts'
import { message } from '../protocols/a2a/serve.ts'
import { call, startRun, type Target, untilStatus } from '../support/http.ts'
import { bodyFor, componentFor, pathFor, type Subject, subscriptionTo } from './requests.ts'
import { APPROVING, type Caller, openWorld, SECRET, strangers, type World } from './world.ts'

/** Public routes. New ones must be added here. */
const PUBLIC = [
  'GET /',
  'GET /.well-known/agent-card.json',
  'GET /.well-known/agent.json',
  'GET /a2a/{component}',
  'GET /a2a/{component}/.well-known/agent-card.json',
  'GET /a2a/{component}/.well-known/agent.json',
  'GET /console',
  'GET /console/',
  'GET /console/assets/{file}',
  'GET /console/break',
  'GET /console/runs',
  'GET /console/runs/{id}',
  'GET /console/server',
  'GET /console/start',
  'GET /docs',
  'GET /health',
  'GET /health/ready',
  'GET /info',
  'GET /info/',
  'GET /openapi.json',
  'GET /v1/stream/__ds/jwks.json',
  // These take the token of one wake instead of a credential.
  'POST /v1/stream/__ds/subscriptions/{id}/ack',
  'POST /v1/stream/__ds/subscriptions/{id}/callback',
  'POST /v1/stream/__ds/subscriptions/{id}/release',
]

/** Requests that change nothing despite their method. JSON-RPC has its method in the body, and is walked by method. */
const READING_POST = /\/resume\/?$|^\/a2a\/\{component\}\/?$|^\/$|\/responses\/compact$/

/** Facts about the server and all its users, and requests to an upstream with the server's own credential. */
const FOR_ADMINS = [
  'GET /console/api/server',
  'GET /admin/metrics',
  'GET /metrics',
  'POST /admin/forget',
  ...['GET', 'POST', 'PUT', 'PATCH', 'DELETE'].map((method) => `${method} /upstream/{name}/{path*}`),
]

/** Parts of AgentOS that are reported as unsupported. */
const NOT_HERE = /is not supported by this server/

/** Needs a webhook that was given up after hours. */
const UNREACHABLE = ['POST /a2a/dead-letters/{task}/{config}/retry']

/** Commands to an unfinished run. */
const WAITING = /\/(answers|continue|stop|cancel)\/?$|^POST .*\/tasks\/\{id\}$|\/approvals\/\{/

const nameOf = ({ method, path }: Route): string => `${method} ${path}`

interface Answer {
  readonly status: number
  readonly text: string
}

/** By a caller, or by the holder of a share link. */
async function ask(
  { server, token }: World,
  caller: string,
  route: Route,
  subject: Subject,
  where: 'header' | 'address' = 'header',
): Promise<Answer> {
  const isLink = caller.startsWith('hfs_')
  const bearer = isLink ? (where === 'header' ? caller : undefined) : token(caller as Caller)
  const path = pathFor(route, subject)
  const address = isLink && where === 'address' ? `${path}${path.includes('?') ? '&' : '?'}share=${caller}` : path
  const { headers, ...init } = bodyFor(route, subject)
  const response = await fetch(server.url + address, {
    method: route.method,
    ...init,
    headers: {
      ...(headers as Record<string, string>),
      'a2a-version': route.path.startsWith('/a2a/{component}/v1/') ? '0.3' : '1.0',
      ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
    },
  })
  return { status: response.status, text: await response.text() }
}

/** A run of alice's that has ended, or waits for an answer. */
async function subjectFor({ server, token }: World, path: string, state: 'completed' | 'paused'): Promise<Subject> {
  const alice: Target = { url: server.url, token: token('alice')! }
  const component = path.startsWith('/approvals/{') ? APPROVING : componentFor(path)
  const session = `session-${crypto.randomUUID()}`
  const script = state === 'completed' ? `say ${SECRET}` : `say ${SECRET}; ask Go on?`
  const inTenant = path.includes('{tenant}')
  const run = await (inTenant
    ? startInTenant(alice, script)
    : startRun(alice, script, { component, session }).then(({ id }) => id))
  await untilStatus(alice, run, [state])
  const webhook = { id: 'hook', url: 'https://example.com/hook', token: SECRET }
  const headers = { 'a2a-version': '1.0' }
  await call(alice, 'POST', `/a2a/${component}${inTenant ? '/acme' : ''}/tasks/${run}/pushNotificationConfigs`, {
    body: webhook,
    headers,
  })
  const items = [{ role: 'user', content: SECRET }]
  const { body } = await call<{ data?: { id: string }[] }>(alice, 'POST', `/v1/conversations/${session}/items`, {
    body: { items },
  })
  const putStream = (name: string, content?: string): Promise<Response> =>
    fetch(`${alice.url}/v1/stream/${name}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${alice.token}`, 'content-type': 'application/json' },
      ...(content !== undefined && { body: content }),
    })
  await putStream(`wakes-${run}`)
  const subscription = `/v1/stream/__ds/subscriptions/${run}`
  await call(alice, 'PUT', subscription, { body: subscriptionTo(run) })
  await call(alice, 'POST', `${subscription}/streams`, { body: { streams: [SECRET] } })
  // After its subscription, which then has work.
  await putStream(`kelp-${run}`, JSON.stringify([SECRET]))
  const { body: share } = await call<{ id: string }>(alice, 'POST', `/runs/${run}/shares`, { body: {} })
  return { run, session, component, config: 'hook', item: body.data?.[0]?.id ?? 'none', share: share.id }
}

/** A tenant of an agent of A2A, which its tasks belong to. */
async function startInTenant(alice: Target, script: string): Promise<string> {
  const body = { message: message(script), configuration: { returnImmediately: true } }
  const sent = await call<{ task: { id: string } }>(alice, 'POST', '/a2a/lab/acme/message:send', {
    body,
    headers: { 'a2a-version': '1.0' },
  })
  return sent.body.task.id
}

async function stateOf({ server, token }: World, { run, session, component }: Subject): Promise<unknown[]> {
  const alice: Target = { url: server.url, token: token('alice')! }
  const hooks = `/a2a/${component}/tasks/${run}/pushNotificationConfigs`
  const paths = [
    `/runs/${run}`,
    `/runs/${run}/events?format=json`,
    `/v1/conversations/${session}`,
    `/native/sessions/${session}`,
    `/v1/stream/kelp-${run}`,
    `/v1/stream/__ds/subscriptions/${run}`,
    hooks,
  ]
  const answers = await Promise.all(
    paths.map((path) => call(alice, 'GET', path, { headers: { 'a2a-version': '1.0' } })),
  )
  // A problem names its request, so two of them differ.
  return answers.map(({ status, body }) => [status, status < 300 ? body : undefined])
}

const isForReaders = (route: Route): boolean =>
  (route.method === 'GET' || READING_POST.test(route.path)) &&
  !FOR_ADMINS.includes(nameOf(route)) &&
  !route.path.includes('/shares')

async function inTurns<Item>(items: readonly Item[], act: (item: Item) => Promise<void>, atOnce = 8): Promise<void> {
  const left = [...items]
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      for (let item = left.shift(); item !== undefined; item = left.shift()) await act(item)
    }),
  )
}

test(
  '[SEC-1] [SEC-2] every route rejects credentials that are missing, wrong, expired or revoked',
  { timeout: 300_000 },
  async () => {
    const world = await openWorld()
    expect(
      world.routes
        .filter(({ route }) => route.public === true)
        .map(({ route }) => nameOf(route))
        .toSorted(),
    ).toEqual(PUBLIC)
    const subjects = new Map<string, Subject>()
    for (const component of ['lab', 'lab-team', 'lab-workflow']) {
      const path = { lab: '/agents/', 'lab-team': '/teams/', 'lab-workflow': '/workflows/' }[component]!
      subjects.set(component, await subjectFor(world, path, 'completed'))
    }
    const guarded = world.routes.filter(({ route }) => route.public !== true)
    const wrong: string[] = []
    await inTurns(guarded, async ({ route }) => {
      for (const caller of strangers) {
        const { status, text } = await ask(world, caller, route, subjects.get(componentFor(route.path))!)
        if (status !== 401 || text.includes(SECRET)) wrong.push(`${nameOf(route)} by ${caller}: ${status}`)
      }
    })
    expect(wrong).toEqual([])
  },
)

test(
  '[SEC-1] no route shows or changes data of another principal or tenant, or lets a read-only key change anything',
  { timeout: 600_000 },
  async () => {
    const world = await openWorld()
    const wrong: string[] = []
    const unreached: string[] = []
    await inTurns(
      world.routes.filter(({ route }) => route.public !== true),
      async ({ route }) => {
        const problems = await walk(world, route)
        wrong.push(...problems.wrong.map((problem) => `${nameOf(route)} ${problem}`))
        if (problems.unreached !== undefined) unreached.push(`${nameOf(route)}: ${problems.unreached}`)
      },
    )
    expect(wrong).toEqual([])
    // A request that not even alice can make proves nothing.
    expect(unreached).toEqual([])
  },
)

/** Routes that accept a share link, which opens one run. New ones must be added here. */
const SHAREABLE = ['GET /runs/{id}', 'GET /runs/{id}/events', 'POST /runs/{id}/answers', 'POST /runs/{id}/stop']

async function newLink({ server, token }: World, run: string): Promise<string> {
  const alice: Target = { url: server.url, token: token('alice')! }
  const body = { can: ['read', 'answer', 'stop'] }
  const made = await call<{ path: string }>(alice, 'POST', `/runs/${run}/shares`, { body })
  return new URL(made.body.path, server.url).searchParams.get('share')!
}

const otherLinks = new WeakMap<World, Promise<string>>()

function linkOfAnotherRun(world: World): Promise<string> {
  const known = otherLinks.get(world)
  if (known !== undefined) return known
  const made = subjectFor(world, '/runs', 'completed').then(({ run }) => newLink(world, run))
  otherLinks.set(world, made)
  return made
}

/** A link opens the routes of its own run that take links, and nothing else: not even to learn that another run exists. */
async function walkWithLinks(world: World, route: Route, subject: Subject): Promise<string[]> {
  const wrong: string[] = []
  const isOpen = SHAREABLE.includes(nameOf(route))
  if ((route.shareable === true) !== isOpen)
    wrong.push('takes share links without being listed, or the other way round')
  const state = WAITING.test(nameOf(route)) ? 'paused' : 'completed'
  const other = await linkOfAnotherRun(world)
  const link = isOpen ? undefined : await newLink(world, subject.run)
  for (const where of ['header', 'address'] as const) {
    const foreign = await ask(world, other, route, subject, where)
    if (foreign.status !== (isOpen ? 404 : 401) || foreign.text.includes(SECRET))
      wrong.push(
        `answers the link of another run in its ${where} with ${foreign.status}: ${foreign.text.slice(0, 200)}`,
      )
    // What it may change is changed here, so that it is not alice's run.
    const own = isOpen ? await subjectFor(world, route.path, state) : subject
    const answer = await ask(world, link ?? (await newLink(world, own.run)), route, own, where)
    if (isOpen ? answer.status >= 300 : answer.status !== 401 || answer.text.includes(SECRET))
      wrong.push(`answers a link in its ${where} with ${answer.status}: ${answer.text.slice(0, 200)}`)
  }
  return wrong
}

async function walk(world: World, route: Route): Promise<{ readonly wrong: string[]; readonly unreached?: string }> {
  const wrong: string[] = []
  const subject = await subjectFor(world, route.path, WAITING.test(nameOf(route)) ? 'paused' : 'completed')
  const before = await stateOf(world, subject)
  for (const caller of ['bob', 'other tenant'] as const) {
    const { status, text } = await ask(world, caller, route, subject)
    if (text.includes(SECRET)) wrong.push(`shows ${caller} what is alice's (${status})`)
    if (status >= 500) wrong.push(`fails with ${status} for ${caller}: ${text.slice(0, 200)}`)
  }
  wrong.push(...(await walkWithLinks(world, route, subject)))
  const reader = await ask(world, 'reader', route, subject)
  if (JSON.stringify(await stateOf(world, subject)) !== JSON.stringify(before)) wrong.push('changed a run of alice')
  const alice = await ask(world, 'alice', route, subject)
  if (FOR_ADMINS.includes(nameOf(route))) {
    if (alice.status !== 403) wrong.push(`answers a key without the scope admin with ${alice.status}`)
    return { wrong }
  }
  if (NOT_HERE.test(alice.text) || UNREACHABLE.includes(nameOf(route))) return { wrong }
  if (alice.status >= 300) return { wrong, unreached: `${alice.status} ${alice.text.slice(0, 200)}` }
  if (reader.status !== (isForReaders(route) ? alice.status : 403))
    wrong.push(`answers a reader with ${reader.status}: ${reader.text.slice(0, 200)}`)
  return { wrong }
}
