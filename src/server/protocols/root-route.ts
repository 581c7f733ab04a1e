/** The root of the server: redirects browsers to the console, and lists the served protocols for programs. */
import { respondJson } from '../../http/response/respond.ts'
import type { Route } from '../../http/routing/route.ts'
import type { ProtocolPaths } from './protocol-paths.ts'

export function rootRoute(version: string, paths: ProtocolPaths): Route {
  const consolePath = paths.get('console')
  return {
    method: 'GET',
    path: '/',
    public: true,
    handle({ request, response, base }) {
      if (consolePath !== undefined && (request.headers.accept ?? '').includes('text/html')) {
        response.writeHead(302, { location: base + consolePath, 'cache-control': 'no-store' })
        return void response.end()
      }
      const protocols = Object.fromEntries([...paths].map(([name, path]) => [name, base + path || '/']))
      respondJson(response, 200, { name: 'Holdfast', id: 'holdfast', version, protocols })
    },
  }
}
