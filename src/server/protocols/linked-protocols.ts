/** The protocols that provide links to a run and to positions in it. Loaded lazily. */
import type { Service } from '../../core/service.ts'
import type { LinkedProtocol, RunLink } from '../../http/run-link.ts'
import { movePath } from '../../http/routing/moved-protocol.ts'
import type { StoredRun } from '../../core/ports/store.ts'
import { defaultPath, type ProtocolName, type ProtocolPaths } from './protocol-paths.ts'

type Load = () => Promise<(service: Service, stored: StoredRun) => RunLink>

const loaders: readonly { readonly name: ProtocolName; readonly load: Load }[] = [
  { name: 'agentos', load: async () => (await import('../../protocols/agentos/run-link.ts')).agentosLink },
  { name: 'openai', load: async () => (await import('../../protocols/openai/run-link.ts')).responseLink },
  { name: 'a2a', load: async () => (await import('../../protocols/a2a/run-link.ts')).taskLink },
  { name: 'ai-sdk', load: async () => (await import('../../protocols/ai-sdk/run-link.ts')).chatLink },
  { name: 'ag-ui', load: async () => (await import('../../protocols/ag-ui/run-link.ts')).agUiLink },
  { name: 'mcp', load: async () => (await import('../../protocols/mcp/run-link.ts')).mcpLink },
]

export function linkedProtocols(service: Service, paths: ProtocolPaths): LinkedProtocol[] {
  return loaders
    .filter(({ name }) => paths.has(name))
    .map(({ name, load }) => ({
      protocol: name,
      link: async (stored) => (await load())(service, stored),
      place: (path) => withComponent(movePath(path, defaultPath(name), paths.get(name)!)[0]!),
    }))
}

/** Moves the component parameter of a path to the query. */
function withComponent(path: string): string {
  const url = new URL(path, 'http://localhost')
  const component = url.searchParams.get('component')
  if (component === null || !path.includes('{component}')) return path
  url.searchParams.delete('component')
  return path.split('?', 1)[0]!.replace('{component}', encodeURIComponent(component)) + url.search
}
