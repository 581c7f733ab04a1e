/** Discovers an A2A agent by its card. */
import { WorkFailure } from '../../core/ports/component.ts'
import { remoteA2aAgent } from '../remote-a2a/agent.ts'
import { fetchJson, objectIn, textIn } from './fetch-json.ts'
import { type DiscoveredComponent, textInput, type UpstreamKind, type UpstreamOptions } from './source.ts'

/** Of 1.0 and newer servers of 0.3, and of older ones. */
const CARD_PATHS = ['.well-known/agent-card.json', '.well-known/agent.json']

export function a2aKind(url: string, options: UpstreamOptions): UpstreamKind {
  const { headers = {}, idleTimeoutMs, requestTimeoutMs } = options
  return {
    protocol: 'a2a',
    async find(signal) {
      const cards = url.endsWith('.json') ? [url] : CARD_PATHS.map((path) => `${url}/${path}`)
      for (const [position, at] of cards.entries()) {
        try {
          return [componentOnCard(objectIn(await fetchJson(at, headers, signal)), at)]
        } catch (thrown) {
          if (!isMissing(thrown) || position === cards.length - 1) throw thrown
        }
      }
      return []
    },
    component({ facts }, { assertReachable, ...common }) {
      const { card } = facts as { card: string }
      const component = remoteA2aAgent({
        ...common,
        // A2A servers send no heartbeats, and streams of healthy tasks are reopened: the run itself is watched.
        ...(idleTimeoutMs !== undefined && { limits: { runIdleTimeoutMs: 2 * idleTimeoutMs, ...common.limits } }),
        url: card,
        ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
        ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
      })
      return {
        ...component,
        input: textInput,
        admit: assertReachable,
      }
    },
  }
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof WorkFailure && (thrown.failure.details as { status?: number } | undefined)?.status === 404
}

/** Its id is the name on the card, as a word. */
function componentOnCard(card: Readonly<Record<string, unknown>>, at: string): DiscoveredComponent {
  const name = textIn(card, 'name') ?? 'agent'
  const description = textIn(card, 'description')
  const word = name
    .toLowerCase()
    .replaceAll(/[^a-z0-9._-]+/g, '-')
    .replaceAll(/^[^a-z0-9]+|-+$/g, '')
  return {
    id: word === '' ? 'agent' : word,
    kind: 'agent',
    name,
    ...(description !== undefined && { description }),
    facts: { card: at },
  }
}
