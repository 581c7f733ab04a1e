/** Sessions of an AgentOS upstream. */
import type { Principal } from '../../../core/model/principal.ts'
import type { Call } from '../../../http/routing/route.ts'

/** A response of the upstream. */
interface UpstreamAnswer {
  readonly status: number
  /** As parsed from JSON; undefined if it is not JSON. */
  readonly body: unknown
}

/** The upstream whose sessions are listed together with those of this server. */
export interface UpstreamSessions {
  readonly name: string
  /** Whether a caller may see the upstream's sessions: the upstream's key gives access to those of all users. */
  isOpenTo(principal: Principal): boolean
  /** Requests `GET /sessions` of the upstream. Throws `unavailable` if it does not respond. */
  list(call: Call, query: URLSearchParams): Promise<UpstreamAnswer>
  /** Forwards the request to a path of the upstream. */
  pass(call: Call, path: string): Promise<void>
}
