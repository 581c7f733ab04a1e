/** Runs that fuzzed requests refer to: created on demand, and again after a request changed or removed them. */
import { call, startRun, type Target, untilStatus } from '../support/http.ts'
import { componentFor, type Subject, subscriptionTo } from '../security/requests.ts'
import { KEY, type Ready } from './messages.ts'

export type SubjectState = 'completed' | 'paused'

export class Subjects {
  readonly #made = new Map<string, Subject>()

  async get({ url }: Ready, path: string, state: SubjectState): Promise<Subject> {
    const component = componentFor(path)
    const key = `${url} ${component} ${state}`
    const made = this.#made.get(key) ?? (await make({ url, token: KEY }, component, state))
    this.#made.set(key, made)
    return made
  }

  /** Called after a successful request for this path: runs that it names may have changed. */
  changed(path: string): void {
    // A run's own stream is only read.
    if (path.startsWith('/v1/stream/') && !path.startsWith('/v1/stream/__ds/')) return
    for (const [key, { run, session }] of this.#made) {
      const tail = run.slice(run.indexOf('_') + 1)
      if (path.includes(tail) || path.includes(session)) this.#made.delete(key)
    }
  }
}

async function make(target: Target, component: string, state: SubjectState): Promise<Subject> {
  const session = `session-${crypto.randomUUID()}`
  const input = state === 'paused' ? 'say kelp; ask Go on?' : 'say kelp'
  const { id: run } = await startRun(target, input, { component, session })
  await untilStatus(target, run, [state], 60_000)
  await call(target, 'POST', `/a2a/${component}/tasks/${run}/pushNotificationConfigs`, {
    body: { id: 'hook', url: 'https://example.com/hook' },
    headers: { 'a2a-version': '1.0' },
  })
  const { body } = await call<{ data?: { id: string }[] }>(target, 'POST', `/v1/conversations/${session}/items`, {
    body: { items: [{ role: 'user', content: 'kelp' }] },
  })
  await call(target, 'PUT', `/v1/stream/__ds/subscriptions/${run}`, { body: subscriptionTo(run) })
  // Its answer has the type of the stream, and no body.
  await fetch(`${target.url}/v1/stream/kelp-${run}`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: '["kelp"]',
  })
  const { body: share } = await call<{ id: string }>(target, 'POST', `/runs/${run}/shares`, { body: {} })
  return { run, session, component, config: 'hook', item: body.data?.[0]?.id ?? 'none', share: share.id }
}
