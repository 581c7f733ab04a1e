/** Loads passthrough if an upstream is configured for it. */
import type { ComponentSource } from '../../core/ports/component-source.ts'
import type { Service } from '../../core/service.ts'
import type { Mount } from '../../http/routing/mounts.ts'
import type { Protocol } from '../../http/routing/route.ts'
import type { UpstreamSessions } from '../../protocols/agentos/requests/upstream-sessions.ts'
import type { ProtocolPaths } from './protocol-paths.ts'

interface PassthroughParts {
  readonly mounts: readonly Mount[]
  /** Serves paths that no protocol owns. */
  readonly fallback?: Protocol | undefined
  readonly upstreamSessions?: UpstreamSessions | undefined
}

export async function openPassthrough(
  sources: readonly ComponentSource[],
  service: Service,
  paths: ProtocolPaths,
): Promise<PassthroughParts> {
  if (sources.every(({ passthrough }) => passthrough === undefined)) return { mounts: [] }
  const { passedUpstreams, passedSessions, rootProtocol, UPSTREAM_PATH, UPSTREAM_ROUTE, upstreamProtocol } =
    await import('../../protocols/passthrough/index.ts')
  const passed = passedUpstreams(sources)
  const protocol = upstreamProtocol(service, passed)
  return {
    mounts: [{ paths: [UPSTREAM_PATH], upgrades: [UPSTREAM_ROUTE], load: () => Promise.resolve(protocol) }],
    fallback: rootProtocol(service, passed, paths.get('openai')),
    upstreamSessions: passedSessions(service, passed),
  }
}
