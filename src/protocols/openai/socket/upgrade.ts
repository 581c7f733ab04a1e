/** The WebSocket of `/v1/responses`. It is authenticated before it is accepted. */
import type { Logger } from '../../../core/ports/logger.ts'
import type { Service } from '../../../core/service.ts'
import { bearerIn } from '../../../http/request/bearer.ts'
import type { SocketServer } from '../../../http/socket/server.ts'
import type { Upgrade, UpgradeCall } from '../../../http/socket/upgrade.ts'
import { DISCONNECT_HEADER, SESSION_HEADER, TOOLS_HEADER } from '../requests/request.ts'
import { ResponseSession } from './session.ts'

/** The maximum lifetime of a connection to OpenAI. */
const LIFETIME_MS = 60 * 60 * 1000

/** Headers of the handshake that apply to every response. */
const CONNECTION_HEADERS = [SESSION_HEADER, DISCONNECT_HEADER, TOOLS_HEADER]

export function responsesUpgrade(service: Service, server: SocketServer, logger: Logger): Upgrade {
  return { path: '/v1/responses', handle: (call) => open(call, service, server, logger) }
}

async function open(call: UpgradeCall, service: Service, server: SocketServer, logger: Logger): Promise<void> {
  const { headers: given } = call.request
  const bearer = bearerIn(given.authorization)
  const principal = await call.authenticate(bearer === undefined ? {} : { bearer })
  call.admit(principal)
  // An open socket counts as a stream, even if it follows no run.
  const release = service.openStream(principal)
  call.socket.once('close', release)
  // An idempotency key in the handshake would apply to every response.
  const headers = Object.fromEntries(CONNECTION_HEADERS.map((name) => [name, given[name]]))
  const peer = { principal, request: { headers }, logger, admit: call.admit, lifetimeMs: LIFETIME_MS }
  await server.accept(call, (socket) => new ResponseSession(socket, service, peer))
}
