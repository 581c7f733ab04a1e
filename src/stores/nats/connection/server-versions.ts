/** Minimum server version, and how the store learns the versions of a cluster's servers without authenticating. */
import { connect } from 'node:net'
import { HoldfastError } from '../../../core/model/errors.ts'

/**
 * Up to 2.9.20 a server checks the expected sequence only when a message arrives, so two writers can take one position. From
 * 2.9.21 to 2.10 replicas can diverge. 2.11 tracks messages in flight, and a new leader applies its log before it serves.
 */
const MAJOR_MIN = 2
const MINOR_MIN = 11
const PROBE_MS = 2000
const INFO_CHARS_MAX = 64 * 1024

/** Why a server cannot be used; undefined: it can. */
export function versionFault(version: string, address: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  if (major > MAJOR_MIN || (major === MAJOR_MIN && minor >= MINOR_MIN)) return undefined
  return `${address} is nats-server ${version}, but Holdfast needs ${MAJOR_MIN}.${MINOR_MIN} or later: before that, replicas can diverge and acknowledged events can be lost or shown under another run`
}

export function unsupportedServer(fault: string): HoldfastError {
  return new HoldfastError('unsupported', fault)
}

/** Version problems of the servers at these addresses. Unreachable or silent servers are skipped. */
export async function versionFaults(addresses: readonly string[]): Promise<string[]> {
  const found = await Promise.all(
    addresses.map(async (address) => {
      const version = await versionAt(address)
      return version === undefined ? undefined : versionFault(version, address)
    }),
  )
  return found.flatMap((fault) => fault ?? [])
}

/** A NATS server sends its version to every client before it authenticates it. */
function versionAt(address: string): Promise<string | undefined> {
  const { hostname, port } = new URL(`nats://${address}`)
  return new Promise((resolve) => {
    const socket = connect({ host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || 4222) })
    let text = ''
    const done = (version?: string): void => {
      socket.destroy()
      resolve(version)
    }
    socket.setTimeout(PROBE_MS, () => done())
    socket.on('error', () => done())
    socket.on('close', () => done())
    socket.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
      if (text.includes('\r\n') || text.length > INFO_CHARS_MAX) done(/"version":"([^"]+)"/.exec(text)?.[1])
    })
  })
}
