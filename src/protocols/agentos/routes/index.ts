/** The route table: per family, and for the server. */
import { respondJson } from '../../../http/response/respond.ts'
import type { Route } from '../../../http/routing/route.ts'
import { componentDetail, componentSummary } from '../wire/components.ts'
import { families, type Family } from '../wire/families.ts'
import type { AgentOs } from '../requests/agent-os.ts'
import { approvalRoutes } from './approvals.ts'
import { checkpointRoutes } from './checkpoints.ts'
import { osRoutes, type AgentOsInfo } from './os.ts'
import { runRoutes } from './runs.ts'
import { sessionRoutes } from './sessions.ts'

export function agentosRoutes(os: AgentOs, facts: AgentOsInfo): Route[] {
  const all = Object.values(families).flatMap((family) => [
    ...componentRoutes(os, family),
    ...runRoutes(os, family),
    ...(family.kind === 'workflow' ? [] : checkpointRoutes(os, family)),
  ])
  return [...all, ...sessionRoutes(os), ...approvalRoutes(os), ...osRoutes(os, facts)].flatMap(withSlash)
}

function componentRoutes(os: AgentOs, family: Family): Route[] {
  return [
    {
      method: 'GET',
      path: `/${family.path}`,
      handle: ({ response }) => respondJson(response, 200, os.components(family).map(componentSummary)),
    },
    {
      method: 'GET',
      path: `/${family.path}/{id}`,
      handle: (call) => respondJson(call.response, 200, componentDetail(os.component(family, call))),
    },
  ]
}

/** AgentOS clients may add a trailing slash. */
function withSlash(route: Route): Route[] {
  return route.path.endsWith('/') ? [route] : [route, { ...route, path: `${route.path}/` }]
}
