/** Sends a PostgreSQL cancel request for a connection's current statement. It uses a second connection and gets no reply. */
import { connect } from 'node:net'
import type { ClientBase } from 'pg'

const CANCEL_REQUEST = 80_877_102
const GIVE_UP_MS = 5000

/** Fields of a `pg` client that its types omit. */
interface Backend {
  readonly host: string
  readonly port: number
  readonly processID?: number | null
  readonly secretKey?: unknown
}

/** Best effort: the network to the server may be what failed. Then `statement_timeout` ends the statement. */
export function cancelBackend(client: ClientBase): void {
  const { host, port, processID, secretKey } = client as unknown as Backend
  if (typeof processID !== 'number' || typeof secretKey !== 'number') return
  const request = Buffer.alloc(16)
  request.writeInt32BE(request.length, 0)
  request.writeInt32BE(CANCEL_REQUEST, 4)
  request.writeInt32BE(processID, 8)
  request.writeInt32BE(secretKey, 12)
  const socket = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  socket.setTimeout(GIVE_UP_MS, () => socket.destroy())
  socket.on('error', () => {})
  socket.end(request)
}
