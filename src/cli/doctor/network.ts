/** Network checks of `holdfast doctor`: the server, and proxies on the way to it. */
import { createClient } from '../../client/index.ts'
import { isHoldfastError, messageOf } from '../../core/model/errors.ts'
import type { Environment } from '../../server/config/options.ts'
import { version } from '../../server/version.ts'
import { bad, type Finding, good, note } from './finding.ts'

export interface Address {
  readonly url: string
  readonly key: string | undefined
}

const ASK_MS = 5000
const SKEW_MS_MAX = 60_000

export async function examineServer(address: Address): Promise<Finding[]> {
  const findings: Finding[] = []
  const { url } = address
  const response = await ask(`${url}/health`)
  const health = response.body as {
    store?: { ok: boolean; reason?: string; alarms?: string[] }
    draining?: boolean
    running?: number
  }
  if (health.store?.ok === false)
    findings.push(
      bad(
        'server',
        `${url}: its store is not usable: ${health.store.reason ?? ''}`,
        'check the log of the server; it retries automatically',
      ),
    )
  else if (health.draining === true) findings.push(note('server', `${url} is shutting down and accepts no runs`))
  else findings.push(good('server', `${url} is up; running runs: ${health.running ?? 0}`))
  for (const alarm of health.store?.alarms ?? [])
    findings.push(bad('store', `${url}: ${alarm}`, 'check the log of the server'))
  findings.push(versionOf(await ask(`${url}/openapi.json`)), ...clockOf(response), ...proxyFindings(response))
  findings.push(...(await examineRuns(address)))
  return findings
}

interface ProbeResponse {
  readonly body: unknown
  readonly headers: Headers
}

async function ask(address: string): Promise<ProbeResponse> {
  const response = await fetch(address, { signal: AbortSignal.timeout(ASK_MS) })
  return { body: await response.json(), headers: response.headers }
}

function versionOf({ body }: ProbeResponse): Finding {
  const serverVersion = (body as { info?: { version?: string } }).info?.version ?? 'unknown'
  return serverVersion === version
    ? good('version', `client and server have version ${serverVersion}`)
    : note('version', `the server has ${serverVersion}, this command ${version}`, 'use the same version for both')
}

function clockOf({ headers }: ProbeResponse): Finding[] {
  const date = Date.parse(headers.get('date') ?? '')
  const skew = Math.abs(Date.now() - date)
  if (Number.isNaN(date) || skew < SKEW_MS_MAX) return []
  return [
    bad(
      'clock',
      `the server's clock and this one differ by ${Math.round(skew / 1000)} s`,
      'synchronize both with NTP: tokens and leases depend on it',
    ),
  ]
}

/** Headers that proxies usually add. */
const PROXY_HEADERS = ['via', 'x-cache', 'cf-ray', 'x-amz-cf-id', 'x-varnish', 'x-served-by']

function proxyFindings({ headers }: ProbeResponse): Finding[] {
  const seen = PROXY_HEADERS.filter((name) => headers.has(name)).map((name) => `${name}: ${headers.get(name)}`)
  return seen.length === 0 ? [] : [note('proxy', `there is a proxy in between (${seen.join(', ')})`, PROXY_ADVICE)]
}

const PROXY_ADVICE =
  'configure it for text/event-stream: no buffering (nginx: proxy_buffering off), no compression, idle timeout above 30 s'

async function examineRuns({ url, key }: Address): Promise<Finding[]> {
  const client = createClient({ url, retries: 0, ...(key !== undefined && { key }) })
  try {
    const { runs } = await client.runs.list({ status: ['running', 'paused'], limit: 1 })
    const [run] = runs
    if (run === undefined)
      return [
        note(
          'streams',
          'streaming was not tested: no run is in progress',
          'start a run, then run holdfast doctor again',
        ),
      ]
    return [await examineStream(`${url}/runs/${run.id}/events?format=sse&after=${run.events - 1}`, key)]
  } catch (cause) {
    const code = (cause as { code?: string }).code
    if (code === 'unauthenticated')
      return [
        bad(
          'key',
          'the server requires authentication',
          'pass a key with --key or HOLDFAST_KEY; create one with holdfast keys',
        ),
      ]
    return [
      bad(
        'runs',
        `runs cannot be listed: ${isHoldfastError(cause) ? cause.code : messageOf(cause)}`,
        'check the log of the server',
      ),
    ]
  }
}

/** A stream sends its first bytes with the headers. A proxy that buffers those also buffers events. */
async function examineStream(address: string, key: string | undefined): Promise<Finding> {
  const since = performance.now()
  try {
    const response = await fetch(address, {
      headers: key === undefined ? {} : { authorization: `Bearer ${key}` },
      signal: AbortSignal.timeout(ASK_MS),
    })
    const encoding = response.headers.get('content-encoding')
    const reader = response.body?.getReader()
    await reader?.read()
    await reader?.cancel()
    if (encoding !== null)
      return bad('streams', `responses are compressed (${encoding}), so events may be delayed`, PROXY_ADVICE)
    return good('streams', `not buffered: first bytes after ${Math.round(performance.now() - since)} ms`)
  } catch (cause) {
    return bad(
      'streams',
      `no bytes within ${ASK_MS / 1000} s (${messageOf(cause)}): a proxy on the way buffers them`,
      PROXY_ADVICE,
    )
  }
}

/** Proxy variables, which Node's fetch only honours if configured to. */
export function examineProxyVariables(env: Environment): Finding[] {
  const set = ['http_proxy', 'https_proxy', 'all_proxy']
    .flatMap((name) => [name, name.toUpperCase()])
    .filter((name) => (env[name] ?? '') !== '')
  if (set.length === 0) return []
  const obeyed = (env['NODE_USE_ENV_PROXY'] ?? '') !== ''
  const names = set.join(', ')
  return obeyed
    ? [
        note(
          'proxy',
          `${names}: holdfast and your agents send their requests through this proxy`,
          `add this machine to NO_PROXY; ${PROXY_ADVICE}`,
        ),
      ]
    : [
        note(
          'proxy',
          `${names}: set, but ignored by Node`,
          'set NODE_USE_ENV_PROXY=1 if agents must use it to reach models',
        ),
      ]
}
