/** Discovers an A2A agent by its card. */
import { WorkError } from '../../core/ports/component.ts'
import { a2aComponent } from '../remote-a2a/agent.ts'
import { fetchJson, objectIn, textIn } from './fetch-json.ts'
import type { UpstreamOptions } from './options.ts'
import { type DiscoveredComponent, textInput, type UpstreamKind } from './source.ts'

/** Of 1.0 and newer servers of 0.3, and of older ones. */
const CARD_PATHS = ['/.well-known/agent-card.json', '/.well-known/agent.json']

export function a2aKind(options: UpstreamOptions): UpstreamKind {
  const { headers, idleTimeoutMs, requestTimeoutMs } = options
  return {
    protocol: 'a2a',
    async find(url, signal) {
      const paths = url.endsWith('.json') ? [''] : CARD_PATHS
      for (const [position, path] of paths.entries()) {
        try {
          return [componentOnCard(objectIn(await fetchJson(url + path, headers, signal)), path)]
        } catch (thrown) {
          if (!isMissing(thrown) || position === paths.length - 1) throw thrown
        }
      }
      return []
    },
    component({ details }, { assertAdmits, pool, headersFor, ...common }) {
      const { path } = details as { path: string }
      const definition = {
        ...common,
        // A2A servers send no heartbeats, and streams of healthy tasks are reopened: the run itself is watched.
        ...(idleTimeoutMs !== undefined && { limits: { runIdleTimeoutMs: 2 * idleTimeoutMs, ...common.limits } }),
        url: pool.replicas[0]!.url,
        ...(idleTimeoutMs !== undefined && { idleTimeoutMs }),
        ...(requestTimeoutMs !== undefined && { requestTimeoutMs }),
      }
      return {
        ...a2aComponent(definition, pool, { cardPath: path, headersFor }),
        input: textInput,
        admit: assertAdmits,
      }
    },
  }
}

function isMissing(thrown: unknown): boolean {
  return thrown instanceof WorkError && (thrown.failure.details as { status?: number } | undefined)?.status === 404
}

/** Its id is the name on the card, as a word. */
function componentOnCard(card: Readonly<Record<string, unknown>>, path: string): DiscoveredComponent {
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
    details: { path },
  }
}
