/** Serves the public agent card, with caching headers. */
import { createHash } from 'node:crypto'
import { respondText } from '../../../http/response/respond.ts'
import type { Call } from '../../../http/routing/route.ts'
import type { Agent } from '../requests/agents.ts'
import { toHybridCard } from '../legacy/card.ts'
import type { A2aOptions } from '../wire/options.ts'
import { parameter, urlOf, versionOf } from '../requests/request.ts'

const MAX_AGE_S = 300

/** In 1.0 format on request; otherwise in the combined format. */
export async function serveCard(call: Call, agent: Agent, options: A2aOptions, startedAt: number): Promise<void> {
  const card = await agent.card(urlOf(call, options))
  const body = JSON.stringify(isCurrent(call, options) ? card : toHybridCard(card))
  const etag = `"${createHash('sha256').update(body).digest('base64url')}"`
  const headers = {
    'cache-control': `public, max-age=${MAX_AGE_S}`,
    etag,
    'last-modified': new Date(startedAt).toUTCString(),
    vary: 'A2A-Version, Host, X-Forwarded-Host, X-Forwarded-Proto, X-Forwarded-Prefix',
  }
  if (isKnown(call, etag)) return void call.response.writeHead(304, headers).end()
  respondText(call.response, 200, 'application/json', body, headers)
}

function isCurrent(call: Call, { unversionedCard = 'both' }: A2aOptions): boolean {
  const isUnversioned = (parameter(call, 'A2A-Version') ?? '') === ''
  return isUnversioned ? unversionedCard === '1.0' : versionOf(call) === '1.0'
}

function isKnown({ request }: Call, etag: string): boolean {
  const known = request.headers['if-none-match'] ?? ''
  return known.split(',').some((each) => each.trim().replace(/^W\//, '') === etag || each.trim() === '*')
}
