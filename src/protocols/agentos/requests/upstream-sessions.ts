/** Sessions of an AgentOS that this server is in front of. */
import type { Principal } from '../../../core/model/principal.ts'
import type { Call } from '../../../http/routing/route.ts'

/** An answer of the upstream. */
interface UpstreamAnswer {
  readonly status: number
  /** As parsed from JSON; undefined if it is not JSON. */
  readonly body: unknown
}

/** The upstream whose sessions are shown with those of this server. */
export interface UpstreamSessions {
  readonly name: string
  /** Whether a caller may see what the upstream shows: its own key sees the sessions of all users. */
  isOpenTo(principal: Principal): boolean
  /** `GET /sessions` there. Throws `unavailable` if there is no answer. */
  list(call: Call, query: URLSearchParams): Promise<UpstreamAnswer>
  /** Passes the request on to a path there. */
  pass(call: Call, path: string): Promise<void>
}
