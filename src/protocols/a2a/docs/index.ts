/** A web page that lists the agents with their skills and addresses, and lets a person try them. */
import { readNumber } from '../../../http/request/read-number.ts'
import { respondJson, respondText } from '../../../http/response/respond.ts'
import type { Protocol } from '../../../http/routing/route.ts'
import { toProblemResponse } from '../../../http/response/problem.ts'
import { Agents, type AgentsOptions } from '../requests/agents.ts'
import { urlOf } from '../requests/request.ts'
import { docsPage } from './page.ts'

/** Maximum agents in one response, because their cards are built and signed for it. */
const AGENTS_MAX = 50

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
        // Cards are public, but the list of agents is not.
        method: 'GET',
        path: '/docs/agents',
        async handle(call) {
          const url = urlOf(call, parts.options)
          const components = parts.service.components()
          const offset = readNumber(call.query, 'offset', Number.MAX_SAFE_INTEGER, 0, 0)
          const page = components.slice(offset, offset + AGENTS_MAX)
          const next = offset + page.length
          respondJson(call.response, 200, {
            agents: await Promise.all(page.map(({ id }) => agents.get(id).card(url))),
            ...(next < components.length && { next }),
          })
        },
      },
    ],
    error: toProblemResponse,
  }
}
