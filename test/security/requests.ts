/** Builds a request for any route about one run, such that authorized callers succeed. */
import { toConversationId, toResponseId } from '../../src/protocols/openai/wire/ids.ts'
import { toStreamToken } from '../../src/protocols/mcp/wire/tokens.ts'
import type { Route } from '../../src/http/routing/route.ts'
import { message } from '../protocols/a2a/serve.ts'

/** Resources that a route can be about. */
export interface Subject {
  readonly run: string
  readonly session: string
  readonly component: string
  /** Of a webhook. */
  readonly config: string
  /** Of a conversation. */
  readonly item: string
  /** Of a share link. */
  readonly share: string
}

/** The kind of component that a path is about. */
export function componentFor(path: string): string {
  const [, family] = /^\/(teams|workflows)\//.exec(path) ?? []
  return family === 'teams' ? 'lab-team' : family === 'workflows' ? 'lab-workflow' : 'lab'
}

export function pathFor({ method, path }: Route, { run, session, component, config, item, share }: Subject): string {
  const named = { run, session, component, config, item, share }
  const names: Record<string, string> = {
    ...named,
    task: run,
    stream: `kelp-${run}`,
    tenant: 'acme',
    index: '0',
    chat: session,
    thread: session,
    name: 'agentos',
    path: 'memories',
    // Its first question.
    approval: Buffer.from(JSON.stringify([run, 'question'])).toString('base64url'),
  }
  const filled = path.replace(/\{(\w+)\*?\}/g, (_all, name: string) =>
    encodeURIComponent(name === 'id' ? idFor(path, { run, session, component }) : (names[name] ?? 'none')),
  )
  // The action on a task follows its id.
  if (method === 'POST' && path.endsWith('/tasks/{id}')) return `${filled}:cancel`
  if (path.endsWith('/frames')) return `${filled}?as=native`
  return /^\/(agents|teams|workflows)\//.test(path) ? `${filled}?session_id=${session}` : filled
}

function idFor(path: string, { run, session, component }: Pick<Subject, 'run' | 'session' | 'component'>): string {
  if (/^\/(agents|teams|workflows)\//.test(path) || path.startsWith('/v1/models/')) return component
  if (path.startsWith('/v1/responses/')) return toResponseId({ run, number: 0 })
  if (path.startsWith('/v1/conversations/')) return toConversationId(session)
  return /^\/(native\/)?sessions\//.test(path) ? session : run
}

/** Not the secret: its sender may see it again. */
const text = 'say kelp'
const send = { message: message(text), configuration: { returnImmediately: true } }
const webhook = { url: 'https://example.com/hook', token: 'kelp' }

/** A subscription to the subject's stream. */
export function subscriptionTo(run: string): object {
  return { type: 'pull-wake', streams: [`kelp-${run}`], wake_stream: `wakes-${run}` }
}

/** Bodies by the end of the path. Default: an empty object. */
const bodies: readonly (readonly [RegExp, (subject: Subject) => unknown])[] = [
  [/^PUT \/v1\/stream\/__ds\/subscriptions\/\{id\}$/, ({ run }) => subscriptionTo(run)],
  [/^POST \/v1\/stream\/__ds\/subscriptions\/\{id\}\/streams$/, () => ({ streams: ['kelp'] })],
  [/^POST \/v1\/stream\/__ds\/subscriptions\/\{id\}\/claim$/, () => ({ worker: 'kelp' })],
  [/^POST \/runs$/, () => ({ component: 'lab', input: text })],
  [/^POST \/admin\/forget$/, () => ({ principal: 'alice', stop: true })],
  [/^POST \/approvals\//, () => ({ status: 'approved' })],
  [/\/answers$/, () => ({ answer: 'yes' })],
  [/^POST \/v1\/chat\/completions$/, () => ({ model: 'lab', messages: [{ role: 'user', content: text }] })],
  [/^POST \/v1\/responses\/compact$/, () => ({ model: 'lab', input: text })],
  [/^POST \/v1\/responses$/, () => ({ model: 'lab', input: text, background: true })],
  [/^POST \/v1\/conversations\/\{id\}\/items$/, () => ({ items: [{ role: 'user', content: text }] })],
  [/^POST \/v1\/conversations/, () => ({ metadata: { topic: 'kelp' } })],
  [
    /^POST \/ai\/\{component\}\/chat$/,
    () => ({ id: 'kelp', messages: [{ role: 'user', parts: [{ type: 'text', text }] }] }),
  ],
  [
    /^POST \/ag-ui\/\{component\}$/,
    () => ({ threadId: 'kelp', runId: crypto.randomUUID(), messages: [{ id: 'm1', role: 'user', content: text }] }),
  ],
  [
    /^POST \/mcp$/,
    () => ({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'lab', arguments: { input: text }, task: {} },
    }),
  ],
  [/\/v1\/message:/, () => ({ message: { messageId: crypto.randomUUID(), role: 'ROLE_USER', content: [{ text }] } })],
  [/\/message:/, () => ({ ...send, message: message(text) })],
  [/\/v1\/tasks\/\{id\}\/pushNotificationConfigs$/, () => ({ config: { pushNotificationConfig: webhook } })],
  [/\/pushNotificationConfigs$/, () => webhook],
  [/^POST \/sessions\/?$/, () => ({ session_name: 'kelp' })],
  [/\/rename\/?$/, () => ({ session_name: 'kelp' })],
  [/^PATCH \/native\/sessions\//, () => ({ name: 'kelp' })],
  [/^PATCH \/sessions\//, () => ({ session_name: 'kelp' })],
]

const forms: readonly (readonly [RegExp, () => Record<string, string>])[] = [
  [/^POST \/(agents|teams|workflows)\/\{id\}\/runs\/?$/, () => ({ message: text, stream: 'false' })],
  [/\/continue\/?$/, () => ({ input: 'yes', stream: 'false' })],
  [/\/(cancel|resume|fork)\/?$/, () => ({})],
]

export function bodyFor({ method, path }: Route, subject: Subject): RequestInit {
  const { session, run } = subject
  // The cursor names the run.
  if (method === 'GET' && path === '/mcp')
    return { headers: { 'last-event-id': `${toStreamToken({ run, request: 1, supportsElicitation: false })}.-1` } }
  if (method === 'GET') return {}
  const name = `${method} ${path}`
  const form = forms.find(([pattern]) => pattern.test(name))
  if (form !== undefined && !path.startsWith('/v1/'))
    return { body: new URLSearchParams({ session_id: session, ...form[1]() }) }
  const lists = /^DELETE \/sessions\/?$/.test(name) ? { session_ids: [session], session_types: ['agent'] } : {}
  const json = bodies.find(([pattern]) => pattern.test(name))?.[1](subject) ?? lists
  return { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } }
}
