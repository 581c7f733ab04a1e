/** Concurrent login attempts: each counts before it is verified. */
import { type ServiceError, status } from '@grpc/grpc-js'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { type Authenticator, credentialRefused, type HostRequest } from '../../src/core/model/principal.ts'
import { hostAuthenticator } from '../../src/server/auth/host.ts'
import { stillClock } from '../support/still-clock.ts'
import { until } from '../support/until.ts'
import { Peer } from './a2a/peer.ts'
import { grpcAddress, serveA2a } from './a2a/serve.ts'

const ALLOWED = 3
const EACH = 10

/** Verdict about a credential, from an HTTP status, a gRPC code or an AgentOS event. */
const outcomes: ReadonlyMap<string | number, string> = new Map<string | number, string>([
  [200, 'accepted'],
  [401, 'wrong'],
  [429, 'throttled'],
  [status.UNAUTHENTICATED, 'wrong'],
  [status.RESOURCE_EXHAUSTED, 'throttled'],
  ['authenticated', 'accepted'],
  ['auth_error', 'wrong'],
  ['error', 'throttled'],
])

async function serve() {
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const verified: string[] = []
  const authenticator: Authenticator = {
    scheme: 'keys',
    async authenticate({ bearer = '' }) {
      verified.push(bearer)
      await opened
      if (bearer.startsWith('right')) return { id: 'anna' }
      throw credentialRefused()
    },
  }
  const limits = { maxAuthFailureBurst: ALLOWED }
  const server = await serveA2a({
    auth: authenticator,
    limits,
    clock: stillClock,
    a2a: { defaultComponent: 'lab', grpcPort: 0 },
  })
  const grpc = new Peer(await grpcAddress(server))

  const overHttp = async (key: string): Promise<string> => {
    const response = await fetch(`${server.url}/runs`, { headers: { authorization: `Bearer ${key}` } })
    return outcomes.get(response.status) ?? String(response.status)
  }
  const overGrpc = (key: string): Promise<string> =>
    grpc.call('ListTasks', {}, { authorization: `Bearer ${key}` }).then(
      () => 'accepted',
      ({ code }: ServiceError) => outcomes.get(code) ?? String(code),
    )
  const overSocket = (key: string): Promise<string> => {
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/agents/ws`)
    onTestFinished(() => socket.terminate())
    return new Promise((resolve, reject) => {
      socket.on('error', reject).on('open', () => socket.send(JSON.stringify({ action: 'authenticate', token: key })))
      socket.on('message', (data: Buffer) => {
        const { event } = JSON.parse(data.toString()) as { event: string }
        const outcome = outcomes.get(event)
        if (outcome !== undefined) resolve(outcome)
      })
    })
  }
  return { ways: [overHttp, overGrpc, overSocket], verified, open }
}

function count(seen: readonly string[], outcome: string): number {
  return seen.filter((each) => each === outcome).length
}

test('[SEC-2] of wrong credentials shown in parallel over HTTP, gRPC and WebSockets, only as many are verified as may fail', async () => {
  const { ways, verified, open } = await serve()
  const shown = ways.flatMap((way, at) => Array.from({ length: EACH }, (_, guess) => way(`wrong-${at}-${guess}`)))
  await until('the allowed number is being verified', () => verified.length >= ALLOWED)
  open()
  const seen = await Promise.all(shown)
  expect(verified).toHaveLength(ALLOWED)
  expect([count(seen, 'wrong'), count(seen, 'throttled')]).toEqual([ALLOWED, ways.length * EACH - ALLOWED])
})

test('[SEC-2] valid credentials shown in parallel for the first time wait for each other and are all accepted', async () => {
  const { ways, verified, open } = await serve()
  const shown = ways.flatMap((way, at) => Array.from({ length: EACH }, (_, key) => way(`right-${at}-${key}`)))
  await until('the allowed number is being verified', () => verified.length >= ALLOWED)
  expect(verified).toHaveLength(ALLOWED)
  open()
  expect(new Set(await Promise.all(shown))).toEqual(new Set(['accepted']))
})

test('[SEC-2] wrong cookies of a host application shown by parallel WebSocket upgrades are throttled, and known ones are not', async () => {
  const verified: string[] = []
  const authenticate = ({ headers }: HostRequest): { id: string } | null => {
    const cookie = headers.get('cookie') ?? ''
    verified.push(cookie)
    return cookie === 'right' ? { id: 'anna' } : null
  }
  const limits = { maxAuthFailureBurst: ALLOWED }
  const server = await serveA2a({ auth: hostAuthenticator(authenticate), limits, clock: stillClock })
  const upgrade = (cookie?: string): Promise<number> => {
    const headers = cookie === undefined ? {} : { cookie }
    const socket = new WebSocket(`${server.url.replace('http', 'ws')}/agents/ws`, { headers })
    onTestFinished(() => socket.terminate())
    return new Promise((resolve) => {
      socket.on('upgrade', () => resolve(101)).on('error', () => {})
      socket.on('unexpected-response', (_request, { statusCode }) => resolve(statusCode ?? 0))
    })
  }
  expect(await upgrade('right')).toBe(101)
  const codes = await Promise.all(Array.from({ length: EACH }, (_, at) => upgrade(`wrong-${at}`)))
  expect(verified.filter((cookie) => cookie.startsWith('wrong'))).toHaveLength(ALLOWED)
  // A socket without a principal may still authenticate with its first message.
  expect(codes.filter((code) => code === 101)).toHaveLength(ALLOWED)
  expect(codes.filter((code) => code === 429)).toHaveLength(EACH - ALLOWED)
  expect([await upgrade('right'), await upgrade()]).toEqual([101, 101])
})
