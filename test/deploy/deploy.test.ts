/** The deployment files parse, and the server accepts their options. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { catalogue } from '../../src/cli/catalogue.ts'
import { gateway } from '../../src/cli/commands/gateway.ts'
import { configOptions } from '../../src/server/config/config-options.ts'
import { readConfig } from '../../src/server/config/config.ts'
import { parseOptions } from '../../src/server/config/options.ts'
import { serveInProcess } from '../support/in-process.ts'

const root = join(import.meta.dirname, '../..')
const PORT = Number(configOptions.port.fallback)
const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Node has no parser for YAML, and Bun, which the client is tested with, has one. */
function parseYaml(file: string): unknown {
  const program = 'console.log(JSON.stringify(Bun.YAML.parse(await Bun.stdin.text())))'
  const bun = join(root, 'node_modules/.bin/bun')
  return JSON.parse(execFileSync(bun, ['-e', program], { input: read(file), encoding: 'utf8' }))
}

type Environment = Readonly<Record<string, string>>

/** The options as a server parses them; throws the error with which it would not start. */
function configOf([command, ...argv]: readonly string[], env: Environment) {
  expect(Object.keys(catalogue)).toContain(command)
  for (const name of Object.keys(env)) expect(Object.values(configOptions).map((option) => option.env)).toContain(name)
  return readConfig(argv, env)
}

describe('deploy/Dockerfile', () => {
  const lines = read('deploy/Dockerfile').replaceAll(/\\\n/g, ' ').split('\n')
  const values = (instruction: string): string[] =>
    lines.flatMap((line) => (line.startsWith(`${instruction} `) ? [line.slice(instruction.length + 1)] : []))
  const env = Object.fromEntries(
    values('ENV').flatMap((line) => line.split(' ').map((pair) => pair.split('=') as [string, string])),
  )

  test('starts a server with valid options', () => {
    const { NODE_ENV: _, ...given } = env
    const command = JSON.parse(values('CMD')[0]!) as string[]
    const config = configOf(command, { ...given, HOLDFAST_SECURITY_KEY: '0123456789abcdef' })
    expect(config).toMatchObject({ port: PORT, host: '0.0.0.0', store: { path: '/data/holdfast.db' } })
    expect(values('EXPOSE')).toEqual([String(PORT)])
    expect(() => configOf(command, given)).toThrow('no authentication')
  })

  test('pins the exact versions that the tests use', () => {
    const { packages } = JSON.parse(read('package-lock.json')) as { packages: Record<string, { version: string }> }
    const version = (name: string): string => packages[`node_modules/${name}`]!.version
    expect(new Set(values('FROM').map((line) => line.split(' ')[0]))).toEqual(
      new Set([`node:${version('node')}-bookworm-slim`]),
    )
    const installed = values('RUN').find((line) => line.includes('npm install'))!
    for (const name of ['pg', '@nats-io/transport-node']) expect(installed).toContain(`${name}@${version(name)} `)
  })

  test('copies files that exist, and runs the program of the package', () => {
    const agents = values('ARG')[0]!.replace('AGENTS=', '')
    expect(existsSync(join(root, agents))).toBe(true)
    const { bin, name } = JSON.parse(read('package.json')) as { bin: Record<string, string>; name: string }
    expect(JSON.parse(values('ENTRYPOINT')[0]!)).toEqual(['node', join('node_modules', name, bin['holdfast']!)])
  })

  test('checks the health endpoint', async () => {
    const { url } = await serveInProcess()
    const [, path] = /http:\/\/127\.0\.0\.1:7777(\/\w+)/.exec(read('deploy/Dockerfile'))!
    expect((await fetch(url + path)).status).toBe(200)
  })
})

interface Service {
  readonly image?: string
  readonly environment?: Environment
  readonly depends_on?: readonly string[] | Readonly<Record<string, unknown>>
  readonly volumes?: readonly string[]
  readonly ports?: readonly string[]
  readonly stop_grace_period?: string
  readonly command?: readonly string[]
}

interface Compose {
  readonly services: Readonly<Record<string, Service>>
  readonly volumes: object
}

describe('compose.yaml', () => {
  const { services, volumes } = parseYaml('compose.yaml') as Compose
  const given: Environment = { HOLDFAST_SECURITY_KEY: '0123456789abcdef', POSTGRES_PASSWORD: 'secret' }

  /** As Compose replaces variables. */
  function interpolated(value: string, variables: Environment): string {
    return value.replaceAll(/\$\{(\w+)(?::([-?])([^}]*))?\}/g, (_, name: string, how?: string, other = '') => {
      if (variables[name] === undefined && how === '?') throw new Error(`${name} is missing: ${other}`)
      return variables[name] ?? other
    })
  }

  test.each(['node-1', 'node-2'])('%s has valid options, and time to drain', (name) => {
    const { environment, stop_grace_period: grace } = services[name]!
    for (const store of [undefined, 'postgres://db.example/app?schema=other']) {
      const variables = store === undefined ? given : { ...given, HOLDFAST_STORE: store }
      const env = Object.entries(environment!).map(([key, value]) => [key, interpolated(value, variables)])
      const { PGPASSWORD: _, ...options } = Object.fromEntries(env) as Environment
      const config = configOf(['serve', 'agents.ts'], options)
      expect(config.store.kind).toBe('postgres')
      expect(Number.parseInt(grace!) * 1000).toBeGreaterThan(config.limits.drainTimeoutMs!)
    }
    expect(() => interpolated(environment!['HOLDFAST_SECURITY_KEY']!, {})).toThrow('HOLDFAST_SECURITY_KEY is missing')
  })

  test('pins third-party images to a patch version', () => {
    const images = Object.values(services).flatMap(({ image }) =>
      image === undefined || image === 'holdfast' ? [] : [image],
    )
    expect(images.length).toBeGreaterThan(2)
    for (const image of images) expect(image).toMatch(/^(postgres:\d+\.\d+|\w+:\d+\.\d+\.\d+)(-alpine)?$/)
  })

  test('requires a password on every NATS server, for clients and for other servers', () => {
    for (const name of ['nats-1', 'nats-2', 'nats-3']) {
      const command = services[name]!.command!.join(' ')
      expect(command).toContain('--user holdfast --pass "$$NATS_PASSWORD"')
      expect(command).toContain('$${NATS_PASSWORD:?')
      expect(command).not.toMatch(/nats:\/\/(?!\$\$as@)/)
    }
  })

  test('trusts the proxy in front of the nodes, which replaces the headers of clients', () => {
    const { HOLDFAST_TRUST_PROXY: trusted } = services['node-1']!.environment!
    expect(trusted).toBe('private')
    for (const header of ['X-Forwarded-For $remote_addr', 'X-Forwarded-Proto $scheme', 'X-Forwarded-Host $http_host'])
      expect(read('deploy/nginx.conf')).toContain(`proxy_set_header ${header};`)
  })

  test('names only services, volumes and files that exist', () => {
    const needed = Object.values(services).flatMap(({ depends_on: needs = [] }) =>
      Array.isArray(needs) ? (needs as string[]) : Object.keys(needs),
    )
    const sources = Object.values(services).flatMap((service) =>
      (service.volumes ?? []).map((text) => text.split(':')[0]!),
    )
    expect(Object.keys(services)).toEqual(expect.arrayContaining(needed))
    expect(Object.keys(volumes)).toEqual(expect.arrayContaining(sources.filter((source) => !source.startsWith('.'))))
    expect(sources.filter((source) => source.startsWith('.') && !existsSync(join(root, source)))).toEqual([])
    const upstreams = [...read('deploy/nginx.conf').matchAll(/server ([\w-]+):(\d+) /g)]
    expect(upstreams.map(([, host, port]) => [host, Number(port)])).toEqual([
      ['node-1', PORT],
      ['node-2', PORT],
    ])
  })
})

interface Manifest {
  readonly kind: string
  readonly metadata: { readonly name: string }
  readonly stringData?: Environment
  readonly spec: {
    readonly selector: { readonly matchLabels?: Environment }
    readonly template: { readonly metadata: { readonly labels: Environment }; readonly spec: PodSpec }
    readonly ports: readonly { readonly targetPort: string }[]
  }
}

interface PodSpec {
  readonly terminationGracePeriodSeconds: number
  readonly enableServiceLinks: boolean
  readonly containers: readonly [Container]
}

interface Container {
  readonly args: readonly string[]
  readonly env: readonly { readonly name: string; readonly value: string }[]
  readonly ports: readonly { readonly name: string; readonly containerPort: number }[]
  readonly startupProbe: Probe
  readonly readinessProbe: Probe
  readonly lifecycle: { readonly preStop: { readonly exec: { readonly command: readonly [string, string] } } }
}

interface Probe {
  readonly httpGet: { readonly path: string; readonly port: string }
}

describe('deploy/kubernetes.yaml', () => {
  const manifests = parseYaml('deploy/kubernetes.yaml') as Manifest[]
  const of = (kind: string): Manifest => manifests.find((manifest) => manifest.kind === kind)!
  const pod = of('Deployment').spec.template.spec
  const [container] = pod.containers

  test('starts servers with valid options, and gives them time to drain', () => {
    const env = Object.fromEntries(container.env.map(({ name, value }) => [name, value]))
    const config = configOf(container.args, { ...of('Secret').stringData, ...env })
    expect(config).toMatchObject({ port: PORT, host: '0.0.0.0', store: { kind: 'postgres' } })
    const [, seconds] = container.lifecycle.preStop.exec.command
    expect(pod.terminationGracePeriodSeconds * 1000).toBeGreaterThan(
      Number(seconds) * 1000 + config.limits.drainTimeoutMs!,
    )
    // Else the service's own variable is taken for the port to listen on.
    expect(pod.enableServiceLinks).toBe(false)
  })

  test('checks the health endpoints', async () => {
    const { url } = await serveInProcess()
    expect(container.ports).toEqual([{ name: 'http', containerPort: PORT }])
    for (const { httpGet } of [container.startupProbe, container.readinessProbe]) {
      expect(httpGet.port).toBe('http')
      expect((await fetch(url + httpGet.path)).status).toBe(200)
    }
  })

  test('has a service and a disruption budget for its pods', () => {
    const { labels } = of('Deployment').spec.template.metadata
    expect(of('Deployment').spec.selector.matchLabels).toEqual(labels)
    expect(of('PodDisruptionBudget').spec.selector.matchLabels).toEqual(labels)
    expect(of('Service').spec.selector).toEqual(labels)
    expect(of('Service').spec.ports[0]!.targetPort).toBe('http')
  })
})

describe('deploy/gateway.compose.yaml', () => {
  const { services } = parseYaml('deploy/gateway.compose.yaml') as Compose
  const { command, environment, stop_grace_period: grace } = services['gateway']!

  test('has options that the gateway accepts, and time to drain', () => {
    const upstreams = 'agentos=http://host.docker.internal:8000,openai=http://host.docker.internal:11434/v1'
    const given: Environment = { HOLDFAST_UPSTREAM: upstreams, HOLDFAST_SECURITY_KEY: '0123456789abcdef' }
    expect(command).toEqual(['gateway'])
    const { values } = parseOptions(gateway.options, [], { ...environment, ...given })
    expect(values['upstream']).toMatchObject([{ protocol: 'agentos' }, { protocol: 'openai' }])
    expect(values['store']).toMatchObject({ kind: 'sqlite', path: '/data/holdfast.db' })
    expect(Number.parseInt(grace!) * 1000).toBeGreaterThan(values['drain-timeout'] as number)
  })
})
