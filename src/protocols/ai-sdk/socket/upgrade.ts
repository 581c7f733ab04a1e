/** The WebSocket of a chat, at the address of its API. It is authenticated before it is accepted. */
import type { IncomingMessage } from 'node:http'
import type { Logger } from '../../../core/ports/logger.ts'
import { bearerIn } from '../../../http/request/bearer.ts'
import { componentIn } from '../../../http/request/find-component.ts'
import type { SocketServer } from '../../../http/socket/server.ts'
import type { Upgrade, UpgradeCall } from '../../../http/socket/upgrade.ts'
import type { ChatService } from '../requests/chats.ts'
import { toolsIn } from '../requests/query.ts'
import { ChatSession } from './session.ts'

export function chatUpgrade(chats: ChatService, server: SocketServer, logger: Logger, path: string): Upgrade {
  return { path, handle: (call) => open(call, chats, server, logger) }
}

async function open(call: UpgradeCall, chats: ChatService, server: SocketServer, logger: Logger): Promise<void> {
  const { request, params } = call
  const query = new URLSearchParams(request.url?.split('?', 2)[1] ?? '')
  const bearer = tokenIn(request, query)
  const principal = await call.authenticate(bearer === undefined ? {} : { bearer })
  call.admit(principal)
  const component = chats.component(componentIn({ params, query }))
  const tools = toolsIn(query)
  // An open socket counts as a stream, even if it follows no run.
  const release = chats.service.openStream(principal)
  call.socket.once('close', release)
  await server.accept(call, (socket) => new ChatSession(socket, chats, { principal, component, tools, logger }, call))
}

/** Browsers cannot send headers with a WebSocket: `?token=`, or the subprotocols `bearer` and the token. */
function tokenIn({ headers }: IncomingMessage, query: URLSearchParams): string | undefined {
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((text) => text.trim())
  const [scheme, token] = protocols
  return bearerIn(headers.authorization) ?? query.get('token') ?? (scheme === 'bearer' ? token : undefined)
}
