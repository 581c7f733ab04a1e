/** A page for people that lists the agents, their skills and addresses, and tries them. */
import { respondJson, respondText } from '../../../http/respond.ts'
import type { Protocol } from '../../../http/route.ts'
import { toProblemResponse } from '../../../http/problem.ts'
import { Agents, type AgentsOptions } from '../requests/agents.ts'
import { urlOf } from '../requests/request.ts'
import { docsPage } from './page.ts'

export function a2aDocs(parts: AgentsOptions): Protocol {
  const agents = new Agents(parts)
  return {
    name: 'a2a-docs',
    routes: [
      {
        method: 'GET',
        path: '/docs',
        public: true,
        handle({ response }) {
          const nonce = crypto.randomUUID()
          respondText(response, 200, 'text/html; charset=utf-8', docsPage(nonce), {
            'cache-control': 'no-store',
            'content-security-policy': [
              "default-src 'none'",
              `script-src 'nonce-${nonce}'`,
              `style-src 'nonce-${nonce}'`,
              "connect-src 'self'",
              "base-uri 'none'",
              "form-action 'none'",
              "frame-ancestors 'none'",
            ].join('; '),
            'x-content-type-options': 'nosniff',
          })
        },
      },
      {
        // The cards are public, but not which agents there are.
        method: 'GET',
        path: '/docs/agents',
        async handle(call) {
          const url = urlOf(call, parts.options)
          const ids = parts.service.components().map(({ id }) => id)
          respondJson(call.response, 200, await Promise.all(ids.map((id) => agents.get(id).card(url))))
        },
      },
    ],
    error: toProblemResponse,
  }
}
