/** The protocols of a server and their paths. Loads none of them. */
import { HoldfastError } from '../../core/model/errors.ts'
import { covers, overlap, toOwnedPath } from '../../http/routing/path-ownership.ts'
import { movePath } from '../../http/routing/moved-protocol.ts'

interface ProtocolPlace {
  /** Default path, without a slash at the end; empty is the root. May have a parameter: `/ai/{component}/chat`. */
  readonly path: string
  /** First segments below its path. Empty: the path itself. Default: everything below. */
  readonly segments?: readonly string[]
  /** Paths that do not move with it. */
  readonly fixed?: readonly string[]
  /** WebSocket paths. */
  readonly upgrades?: readonly string[]
  /** A protocol below whose path this one may be. */
  readonly within?: string
}

const AGENTOS: readonly string[] = [
  'agents',
  'teams',
  'workflows',
  'sessions',
  'info',
  'config',
  'models',
  'approvals',
  // Responded to with "not supported".
  'memories',
  'memory_topics',
  'user_memory_stats',
  'optimize-memories',
  'learnings',
  'knowledge',
  'eval-runs',
  'traces',
  'trace_session_stats',
  'schedules',
  'registry',
  'databases',
  'service-accounts',
]

const PLACES = {
  native: { path: '', segments: ['runs', 'components', 'native', 'admin', 'metrics', 'openapi.json', 'health'] },
  // Before OpenAI, which owns the rest of /v1.
  'durable-streams': { path: '/v1/stream', within: 'openai' },
  openai: { path: '/v1', upgrades: ['/v1/responses'] },
  // JSON-RPC of the default agent is at the root.
  a2a: { path: '/a2a', fixed: ['/.well-known', '/'] },
  'a2a-docs': { path: '/docs' },
  agentos: { path: '', segments: AGENTOS, upgrades: ['/agents/ws', '/teams/ws', '/workflows/ws'] },
  'ai-sdk': { path: '/ai/{component}/chat', upgrades: ['/ai/{component}/chat'] },
  'ag-ui': { path: '/ag-ui/{component}' },
  mcp: { path: '/mcp' },
  console: { path: '/console' },
} as const satisfies Record<string, ProtocolPlace>

export type ProtocolName = keyof typeof PLACES

export const protocolNames = Object.keys(PLACES) as readonly ProtocolName[]

const places: Readonly<Record<ProtocolName, ProtocolPlace>> = PLACES

/** Names, or paths by name: `{ native: '/', openai: '/openai/v1' }`. `true` is the default path. */
export type ProtocolChoice = readonly ProtocolName[] | Readonly<Partial<Record<ProtocolName, string | true>>>

/** The chosen protocols and their paths, without a slash at the end; empty is the root. */
export type ProtocolPaths = ReadonlyMap<ProtocolName, string>

/** Path of health reports, always served: by the native protocol if it is at the root. */
const HEALTH = '/health'

/** Throws `invalid_request` for an unknown protocol, one that needs another, and paths that collide. */
export function toProtocolPaths(choice: ProtocolChoice = protocolNames): ProtocolPaths {
  const paths = new Map(
    Array.isArray(choice)
      ? (choice as readonly string[]).map(
          (name) => [checkProtocolName(name), places[checkProtocolName(name)].path] as const,
        )
      : Object.entries(choice)
          .filter(([, path]) => path !== undefined)
          .map(([name, path]) => [
            checkProtocolName(name),
            path === true ? places[checkProtocolName(name)].path : toPath(checkProtocolName(name), path),
          ]),
  )
  if (paths.has('a2a-docs') && !paths.has('a2a')) throw wrong('a2a-docs needs a2a, which its page uses')
  if (paths.has('console') && !paths.has('native')) throw wrong('console needs native, which its page uses')
  refuseCollisions(paths)
  return paths
}

/** Parses `native,openai=/openai/v1`. */
export function toProtocolChoice(text: string): ProtocolChoice {
  const choice = Object.fromEntries(
    text.split(',').map((part) => {
      const [name = '', path] = part.trim().split('=', 2)
      return [checkProtocolName(name), path ?? true] as const
    }),
  )
  toProtocolPaths(choice)
  return choice
}

export function defaultPath(name: ProtocolName): string {
  return places[name].path
}

/** The paths that a protocol owns at this path, as `toOwnedPath` parses them. */
export function ownedPaths(name: ProtocolName, path: string): readonly string[] {
  const { segments, fixed = [] } = places[name]
  return [...(segments?.map((segment) => `${path}/${segment}`) ?? [path]), ...fixed]
}

/** WebSocket paths of a protocol at this path. */
export function upgradesOf(name: ProtocolName, path: string): readonly string[] {
  const { upgrades = [], path: from } = places[name]
  return upgrades.flatMap((upgrade) => movePath(upgrade, from, path))
}

function checkProtocolName(name: string): ProtocolName {
  if (Object.hasOwn(places, name)) return name as ProtocolName
  throw wrong(`${JSON.stringify(name)} is unknown; use ${protocolNames.join(', ')}`)
}

const PATH_CHARS_MAX = 500

function toPath(name: ProtocolName, given: unknown): string {
  const { path: usual, segments } = places[name]
  const path = typeof given === 'string' ? given.replace(/\/$/, '') : ''
  const isPath = typeof given === 'string' && given.startsWith('/') && /^(\/(?!\.\.?(?:\/|$))[\w.~{}-]+)*$/.test(path)
  if (!isPath || path.length > PATH_CHARS_MAX)
    throw wrong(`${name}: ${JSON.stringify(given)} is not a path such as ${usual || '/'}; true is the default path`)
  const [foreign] = path.split('/').filter((segment) => /[{}]/.test(segment) && !usual.split('/').includes(segment))
  if (foreign !== undefined || path.startsWith('/{'))
    throw wrong(`${name}: ${path} has an unknown parameter; its default path is ${usual || '/'}`)
  if (path === '' && segments === undefined)
    throw wrong(`${name}: it owns everything below its path, so that cannot be /; use one such as ${usual}`)
  return path
}

function refuseCollisions(paths: ProtocolPaths): void {
  const owned: { readonly name: string; readonly text: string }[] = [{ name: 'health', text: HEALTH }]
  for (const [name, path] of paths) {
    for (const text of ownedPaths(name, path)) {
      if (text === HEALTH && name === 'native') continue
      const other = owned.find(
        (each) =>
          each.name !== name && !isWithin(each.name, name) && overlap(toOwnedPath(each.text), toOwnedPath(text)),
      )
      if (other !== undefined)
        throw wrong(
          `${name} at ${path || '/'} collides with ${other.name}, which serves ${other.text}; move one of them`,
        )
      owned.push({ name, text })
    }
  }
}

function isWithin(one: string, other: string): boolean {
  return places[one as ProtocolName]?.within === other || places[other as ProtocolName]?.within === one
}

function wrong(message: string): HoldfastError {
  return new HoldfastError('invalid_request', `protocols: ${message}`)
}

/** Protocols for code in the server's own process, at their configured paths if they have any. */
export function inProcessPaths(chosen: ProtocolPaths): ProtocolPaths {
  const names = ['native', 'ai-sdk'] as const
  return new Map(names.map((name) => [name, chosen.get(name) ?? defaultPath(name)]))
}

/** First segments of all paths. */
export function firstSegments(paths: ProtocolPaths): ReadonlySet<string> {
  const owned = [HEALTH, ...[...paths].flatMap(([name, path]) => ownedPaths(name, path))]
  return new Set(owned.map((each) => toOwnedPath(each).segments[0] ?? ''))
}

/** Whether a path, or a path below it, belongs to one of the protocols. */
export function isOwnedPath(path: string, paths: ProtocolPaths): boolean {
  return (
    path === '/' ||
    covers(toOwnedPath(HEALTH), segmentsOf(path)) ||
    [...paths].some(([name, at]) => ownsPath(name, at, path))
  )
}

/** Whether a path belongs to a protocol mounted `at` a path. */
export function ownsPath(name: ProtocolName, at: string, path: string): boolean {
  return ownedPaths(name, at).some((owned) => covers(toOwnedPath(owned), segmentsOf(path)))
}

function segmentsOf(path: string): readonly string[] {
  return path.split('/').slice(1)
}

/** WebSocket paths of all protocols. */
export function upgradePaths(paths: ProtocolPaths): readonly string[] {
  return [...paths].flatMap(([name, path]) => upgradesOf(name, path))
}
