/** Server-level routes: description, configuration, and unsupported parts of AgentOS. */
import { HoldfastError } from '../../../core/model/errors.ts'
import type { AuthScheme } from '../../../core/model/principal.ts'
import { respondJson } from '../../../http/response/respond.ts'
import type { Route } from '../../../http/routing/route.ts'
import { componentSummary, DB_ID, modelNamed } from '../wire/components.ts'
import { families } from '../wire/families.ts'
import type { AgentOs } from '../requests/agent-os.ts'

export interface AgentOsInfo {
  readonly auth: AuthScheme
  readonly version: string
}

const OS_ID = 'holdfast'
const OS_NAME = 'Holdfast'

/** Version of agno that this protocol matches. */
const AGNO_VERSION = '2.9.0'

const AUTH_MODES: Readonly<Record<AuthScheme, string>> = {
  none: 'none',
  keys: 'security_key',
  jwt: 'jwt',
  'keys+jwt': 'jwt',
  host: 'jwt',
}

export function osRoutes(os: AgentOs, facts: AgentOsInfo): Route[] {
  return [
    { ...get('/info', () => infoOf(os, facts)), public: true },
    get('/config', () => configOf(os)),
    get('/models', () => modelsOf(os)),
    ...ABSENT.flatMap(absentRoutes),
  ]
}

function get(path: string, body: () => unknown): Route {
  return { method: 'GET', path, handle: ({ response }) => respondJson(response, 200, body()) }
}

function infoOf(os: AgentOs, { auth, version }: AgentOsInfo): object {
  return {
    os_id: OS_ID,
    name: OS_NAME,
    agno_version: AGNO_VERSION,
    holdfast_version: version,
    agent_count: os.components(families.agent).length,
    team_count: os.components(families.team).length,
    workflow_count: os.components(families.workflow).length,
    mcp: { enabled: false, path: null, oauth: false },
    auth_mode: AUTH_MODES[auth],
  }
}

/** Omits `available_models`: agno 2 expects strings and agno 3 objects, and each rejects the other. */
function configOf(os: AgentOs): object {
  return {
    os_id: OS_ID,
    name: OS_NAME,
    description: 'Runs that outlive their connections',
    os_database: DB_ID,
    databases: [DB_ID],
    session: {
      display_name: 'Sessions',
      dbs: [{ db_id: DB_ID, domain_config: { display_name: 'Sessions' }, tables: ['sessions'] }],
    },
    agents: os.components(families.agent).map(componentSummary),
    teams: os.components(families.team).map(componentSummary),
    workflows: os.components(families.workflow).map(componentSummary),
    interfaces: [],
  }
}

function modelsOf(os: AgentOs): { readonly id: string; readonly provider: string }[] {
  const named = os.service.components().flatMap((component) => modelNamed(component) ?? [])
  return [...new Map(named.map((model) => [`${model.provider}/${model.id}`, model])).values()]
}

/** First path segments of unsupported features, with the maximum depth below them. */
const ABSENT: readonly (readonly [string, number])[] = [
  ['memories', 1],
  ['memory_topics', 0],
  ['user_memory_stats', 0],
  ['optimize-memories', 0],
  ['learnings', 2],
  ['knowledge', 4],
  ['eval-runs', 1],
  ['traces', 1],
  ['trace_session_stats', 0],
  ['schedules', 3],
  ['registry', 0],
  ['databases', 2],
  ['service-accounts', 1],
]

const METHODS = ['GET', 'POST', 'PATCH', 'DELETE'] as const

/** Responds in this protocol's format, so that clients can tell an unsupported feature from a wrong address. */
function absentRoutes([group, depth]: readonly [string, number]): Route[] {
  const handle = (): never => {
    throw new HoldfastError('not_found', `${group} is not supported by this server`)
  }
  const paths = Array.from({ length: depth + 1 }, (_, below) => {
    return `/${group}${Array.from({ length: below }, (_each, number) => `/{part${number}}`).join('')}`
  })
  return paths.flatMap((path) => METHODS.map((method) => ({ method, path, handle, yields: true })))
}
