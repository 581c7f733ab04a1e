/** Discovers the agents, teams and workflows of an AgentOS. */
import { aBoolean, oneOf, type OptionRules } from '../../core/model/check-options.ts'
import type { Component, ComponentKind } from '../../core/ports/component.ts'
import { agentOsComponent, type RemoteAgentOsDefinition } from '../remote-agentos/agent.ts'
import { fetchJson, listIn, objectIn, textIn } from './fetch-json.ts'
import { type UpstreamOptions, upstreamRules } from './options.ts'
import { type DiscoveredComponent, textInput, type UpstreamKind } from './source.ts'

/** Options of `upstream.agentos`. */
export interface AgentOsUpstreamOptions extends UpstreamOptions {
  /**
   * Start runs in the background on the upstream, so that Holdfast can reconnect to them. Default: true for components with a
   * database.
   */
  readonly background?: boolean
  /** What happens to a foreground run when the gateway dies: it fails, or is started again. Default: `fail`. */
  readonly recovery?: 'fail' | 'retry'
}

export const agentOsRules: OptionRules<AgentOsUpstreamOptions> = {
  ...upstreamRules,
  background: aBoolean,
  recovery: oneOf('fail', 'retry'),
}

const FAMILIES: readonly (readonly [string, ComponentKind])[] = [
  ['agents', 'agent'],
  ['teams', 'team'],
  ['workflows', 'workflow'],
]

export function agentOsKind(options: AgentOsUpstreamOptions): UpstreamKind {
  const { headers, background, recovery = 'fail', idleTimeoutMs, requestTimeoutMs } = options
  const timeouts = {
    ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
    ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
  }
  return {
    protocol: 'agentos',
    async find(url, signal) {
      const lists = await Promise.all(
        FAMILIES.map(async ([path, kind]) =>
          listIn(await fetchJson(`${url}/${path}`, headers, signal)).flatMap((each) => componentInList(each, kind)),
        ),
      )
      return lists.flat()
    },
    component({ id, kind, details }, { assertAdmits, pool, headersFor, ...common }): Component {
      const { hasDb } = details as { hasDb: boolean }
      const definition: RemoteAgentOsDefinition = {
        ...common,
        ...timeouts,
        url: pool.replicas[0]!.url,
        component: id,
        kind,
        background: background ?? hasDb,
        recovery: (background ?? hasDb) ? 'resume' : recovery,
      }
      return {
        ...agentOsComponent(definition, pool, headersFor),
        input: textInput,
        admit: assertAdmits,
      }
    },
  }
}

/** Without a database, an AgentOS refuses runs in the background. */
function componentInList(value: unknown, kind: ComponentKind): DiscoveredComponent[] {
  const found = objectIn(value)
  const id = textIn(found, 'id')
  if (id === undefined) return []
  const [name, description] = [textIn(found, 'name'), textIn(found, 'description')]
  return [
    {
      id,
      kind,
      ...(name !== undefined && { name }),
      ...(description !== undefined && { description }),
      details: { hasDb: textIn(found, 'db_id') !== undefined },
    },
  ]
}
