/** `holdfast gateway --upstream PROTOCOL[:NAME]=URL`: serves the components of other servers. */
import { readFile } from 'node:fs/promises'
import type { UpstreamOptions } from '../../agents/upstream/options.ts'
import { upstream } from '../../agents/upstream/upstream.ts'
import type { ComponentSource, ComponentOrSource } from '../../core/ports/component-source.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { configOptions } from '../../server/config/config-options.ts'
import { configOf } from '../../server/config/config.ts'
import type { Server } from '../../server/create-server.ts'
import { toChoice, toCount, toDuration, toSwitch } from '../../server/config/option-values.ts'
import { type Environment, parseOptions } from '../../server/config/options.ts'
import type { Command } from '../command.ts'
import { hostServer, type ProtocolUrls } from '../serving/host.ts'
import type { CommandIo } from '../io.ts'
import { loadComponents } from '../loading/load-components.ts'
import { supervise } from '../serving/supervise.ts'

const protocols = ['agentos', 'openai', 'a2a'] as const
type Protocol = (typeof protocols)[number]

interface GivenUpstream {
  readonly protocol: Protocol
  readonly name: string
  readonly url: string
}

const gatewayOptions = {
  upstream: {
    value: 'PROTOCOL[:NAME]=URL',
    env: 'HOLDFAST_UPSTREAM',
    repeats: true,
    parse: toUpstreams,
    help: 'Upstream server whose components are served. Repeatable. PROTOCOL is agentos, openai or a2a; NAME distinguishes several of one protocol. Its key is read from HOLDFAST_UPSTREAM_KEY_NAME, or from the file that HOLDFAST_UPSTREAM_KEY_NAME_FILE names.',
  },
  'upstream-replica': {
    value: 'NAME=URL',
    repeats: true,
    parse: toReplicas,
    help: 'Additional replica of the upstream NAME. Repeatable. A session prefers one replica, and fails over to the next if that one fails before it responds. Default: none.',
  },
  'upstream-concurrency': {
    value: 'COUNT',
    parse: toCount(1, 1_000_000),
    help: 'Maximum concurrent runs per upstream and node. Further runs wait. Default: no limit.',
  },
  'upstream-queue': {
    value: 'COUNT',
    fallback: '1000',
    parse: toCount(0, 1_000_000),
    help: 'Maximum queued runs per upstream when --upstream-concurrency is reached. Further starts get 429.',
  },
  'upstream-queue-timeout': {
    value: 'DURATION',
    fallback: '60s',
    parse: toDuration,
    help: 'Maximum time in that queue. After that the run fails with upstream_overloaded.',
  },
  'upstream-breaker': {
    value: 'COUNT',
    fallback: '5',
    parse: toCount(0, 1_000_000),
    help: 'Consecutive failures that open the circuit breaker of a replica for 10 seconds. While every breaker is open, starts get 503. 0 disables it.',
  },
  passthrough: {
    value: 'NAME[=prefix]',
    repeats: true,
    parse: toPassed,
    help: 'Forward other requests to the upstream NAME: under /upstream/NAME/, and at the root for paths that Holdfast does not serve. NAME=prefix: only under /upstream/NAME/. Repeatable. Default: nothing is forwarded.',
  },
  'upstream-prefix': {
    fallback: 'false',
    parse: toSwitch,
    help: "Prefix component ids with the upstream's name and a dash, for upstreams with the same ids.",
  },
  'on-disconnect': {
    value: '[NAME=]POLICY',
    repeats: true,
    fallback: 'continue',
    parse: toPolicies,
    help: 'Policy for a run whose client disconnects: continue, or stop, which also cancels it upstream. NAME limits it to one upstream. Repeatable.',
  },
  'upstream-idle-timeout': {
    value: 'DURATION',
    fallback: '120s',
    parse: toDuration,
    help: 'How long an upstream may send nothing before Holdfast reconnects to the run or, if it cannot, fails it.',
  },
  'upstream-responses': {
    value: 'NAME[=stream]',
    repeats: true,
    parse: toResponsesModes,
    help: 'The OpenAI-compatible upstream NAME supports /responses. Requests from Responses clients are sent to it as background responses, which can be resumed; with NAME=stream, as streaming responses. Repeatable. Default: they are converted to chat completions.',
  },
  'upstream-recovery': {
    value: 'POLICY',
    fallback: 'fail',
    parse: toChoice(['fail', 'retry'] as const),
    help: 'Recovery of runs that Holdfast cannot reconnect to (OpenAI-compatible upstreams, AgentOS without a database): fail, or retry, which sends the request again and retracts the first response.',
  },
} as const

const options = { ...gatewayOptions, ...configOptions }

export const gateway: Command = {
  operands: ['[FILE]'],
  about: `Serves the agents, teams, workflows and models of other servers through every protocol: their streams can be resumed, shared and
read by slow clients, and outlive connections and restarts of this process. The servers are not changed; clients get another base URL.

Components of upstreams are discovered at startup and every 30 seconds. An upstream that is down does not prevent startup: GET
/health names it. With FILE, the components of a module are served too.`,
  examples: [
    { command: 'holdfast gateway --upstream agentos=http://localhost:8000', description: 'in front of an agno server' },
    {
      command: 'holdfast gateway --upstream openai=http://localhost:11434/v1 --upstream a2a=http://localhost:9000',
      description: 'in front of Ollama and an A2A agent',
    },
  ],
  options,
  async run(argv, io) {
    const { values, positionals } = parseOptions(options, argv, withoutKeys(io.env))
    const config = configOf({ values, positionals })
    if (values.upstream === undefined)
      throw new HoldfastError('invalid_request', 'no upstream is configured: pass at least one --upstream PROTOCOL=URL')
    if (config.supervise) return supervise('gateway', argv, config, io)
    checkNames('upstream-replica', values['upstream-replica'] ?? [], values.upstream)
    checkNames('passthrough', values.passthrough ?? [], values.upstream)
    const withResponses = values.upstream.filter(({ protocol }) => protocol === 'openai')
    checkNames('upstream-responses', values['upstream-responses'] ?? [], withResponses)
    checkNames('on-disconnect', values['on-disconnect'], values.upstream)
    const sources = values.upstream.map((each) => sourceOf(each, values, io.env))
    const [file, ...others] = positionals
    if (others.length > 0) throw new HoldfastError('invalid_request', 'expected at most one file with components')
    const components: ComponentOrSource[] = [...sources, ...(file === undefined ? [] : await loadComponents(file))]
    return hostServer(config, components, io, (urls, server) => whatToTry(urls, server, io))
  },
}

function toUpstreams(text: string): readonly GivenUpstream[] {
  return text.split(/[\s,]+/).map((given) => {
    const [, protocol, name = protocol, url] = /^(\w+)(?::([\w-]{1,40}))?=(https?:\/\/.+)$/.exec(given) ?? []
    const known = protocols.find((each) => each === protocol)
    if (known === undefined || url === undefined)
      throw new Error(
        `${JSON.stringify(given)} is not an upstream: pass PROTOCOL[:NAME]=URL, with one of the protocols ${protocols.join(', ')}`,
      )
    return { protocol: known, name: name!, url }
  })
}

interface GivenReplica {
  readonly name: string
  readonly url: string
}

function toReplicas(text: string): readonly GivenReplica[] {
  return text.split(/[\s,]+/).map((given) => {
    const [, name, url] = /^([\w-]{1,40})=(https?:\/\/.+)$/.exec(given) ?? []
    if (name === undefined || url === undefined)
      throw new Error(`${JSON.stringify(given)} is not a replica: pass NAME=URL`)
    return { name, url }
  })
}

interface GivenPassthrough {
  readonly name: string
  readonly passthrough: 'prefix' | 'root'
}

function toPassed(text: string): readonly GivenPassthrough[] {
  return text.split(/[\s,]+/).map((given) => {
    const [, name, where] = /^([\w-]{1,40})(=prefix)?$/.exec(given) ?? []
    if (name === undefined) throw new Error(`${JSON.stringify(given)} is not an upstream: pass NAME or NAME=prefix`)
    return { name, passthrough: where === undefined ? 'root' : 'prefix' }
  })
}

interface GivenResponses {
  readonly name: string
  readonly responses: 'stream' | 'background'
}

function toResponsesModes(text: string): readonly GivenResponses[] {
  return text.split(/[\s,]+/).map((given) => {
    const [, name, mode] = /^([\w-]{1,40})(=stream)?$/.exec(given) ?? []
    if (name === undefined) throw new Error(`${JSON.stringify(given)} is not an upstream: pass NAME or NAME=stream`)
    return { name, responses: mode === undefined ? 'background' : 'stream' }
  })
}

interface GivenPolicy {
  /** Absent: applies to all upstreams. */
  readonly name?: string
  readonly policy: 'continue' | 'stop'
}

function toPolicies(text: string): readonly GivenPolicy[] {
  const toPolicy = toChoice(['continue', 'stop'] as const)
  return text.split(/[\s,]+/).map((given) => {
    const [, name, policy = given] = /^([\w-]{1,40})=(.*)$/.exec(given) ?? []
    return { policy: toPolicy(policy), ...(name !== undefined && { name }) }
  })
}

function policyFor(upstreamName: string, policies: readonly GivenPolicy[]): 'continue' | 'stop' {
  const own = policies.findLast(({ name }) => name === upstreamName)
  return (own ?? policies.findLast(({ name }) => name === undefined))?.policy ?? 'continue'
}

function checkNames(flag: string, given: readonly { name?: string }[], upstreams: readonly GivenUpstream[]): void {
  const names = upstreams.map(({ name }) => name)
  const stray = given.find(({ name }) => name !== undefined && !names.includes(name))
  if (stray === undefined) return
  const known = names.join(', ')
  throw new HoldfastError(
    'invalid_request',
    `--${flag}: upstream ${stray.name} not found: the configured upstreams are ${known}`,
  )
}

const KEY = 'HOLDFAST_UPSTREAM_KEY_'

/** Removes the variables of upstream keys: their names depend on those of upstreams, so no option table has them. */
function withoutKeys(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([name]) => !name.startsWith(KEY)))
}

/** The upstream's key. A file is read for each request, so that the key can be rotated. */
function keyHeaders(name: string, env: Environment): UpstreamOptions['headers'] {
  const variable = KEY + name.toUpperCase().replaceAll('-', '_')
  const [key, path] = [env[variable], env[`${variable}_FILE`]]
  if (path === undefined) return key === undefined ? undefined : { authorization: `Bearer ${key}` }
  if (key !== undefined)
    throw new HoldfastError('invalid_request', `${variable} and ${variable}_FILE cannot be combined: use one of them`)
  return async () => ({ authorization: `Bearer ${(await readFile(path, 'utf8')).trim()}` })
}

interface Settings {
  readonly 'upstream-replica'?: readonly GivenReplica[] | undefined
  readonly 'upstream-concurrency'?: number | undefined
  readonly 'upstream-queue': number
  readonly 'upstream-queue-timeout': number
  readonly 'upstream-breaker': number
  readonly 'upstream-prefix': boolean
  readonly 'on-disconnect': readonly GivenPolicy[]
  readonly auth?: 'passthrough' | undefined
  readonly passthrough?: readonly GivenPassthrough[] | undefined
  readonly 'upstream-responses'?: readonly GivenResponses[] | undefined
  readonly 'upstream-recovery': 'fail' | 'retry'
  readonly 'upstream-idle-timeout': number
}

function sourceOf({ protocol, name, url }: GivenUpstream, settings: Settings, env: Environment): ComponentSource {
  const headers = keyHeaders(name, env)
  const concurrency = settings['upstream-concurrency']
  const replicas = settings['upstream-replica'] ?? []
  const passed = settings.passthrough?.find((each) => each.name === name)
  const common = {
    replicas: replicas.filter((each) => each.name === name).map((each) => each.url),
    ...(concurrency !== undefined && { maxConcurrentRuns: concurrency }),
    maxQueuedRuns: settings['upstream-queue'],
    queueTimeoutMs: settings['upstream-queue-timeout'],
    circuitBreaker: { failureThreshold: settings['upstream-breaker'] },
    name,
    onDisconnect: policyFor(name, settings['on-disconnect']),
    idleTimeoutMs: settings['upstream-idle-timeout'],
    ...(settings['upstream-prefix'] && { prefix: `${name}-` }),
    ...(passed !== undefined && { passthrough: passed.passthrough }),
    ...(headers !== undefined && { headers }),
    ...(headers === undefined && settings.auth === 'passthrough' && { forwardCredential: true }),
  }
  switch (protocol) {
    case 'agentos':
      return upstream.agentos(url, { ...common, recovery: settings['upstream-recovery'] })
    case 'openai':
      return upstream.openai(url, {
        ...common,
        recovery: settings['upstream-recovery'],
        ...responsesOf(name, settings),
      })
    case 'a2a':
      return upstream.a2a(url, common)
  }
}

function responsesOf(name: string, settings: Settings): Partial<Omit<GivenResponses, 'name'>> {
  const { responses } = settings['upstream-responses']?.find((each) => each.name === name) ?? {}
  return responses === undefined ? {} : { responses }
}

function whatToTry({ console }: ProtocolUrls, { service }: Server, { stderr }: CommandIo): string {
  const lines = (service.health().upstreams ?? []).map(({ name, url: at, status, components, error }) => {
    if (status === 'conflict') stderr.write(`Upstream ${name}: ${error}\n`)
    return `  ${name}  ${at}  ${status === 'ok' ? `${components} components` : `${status}: ${error ?? ''}`}`
  })
  const ids = service.components().map(({ id }) => id)
  const served = ids.length === 0 ? 'nothing yet' : ids.join(', ')
  const page = console === undefined ? '' : `Console: ${console}\n`
  return `Upstreams:\n${lines.join('\n')}\n\nServing ${served}\n${page}`
}
