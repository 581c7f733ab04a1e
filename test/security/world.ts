/** A server that speaks every protocol, the routes that it has, and callers with every kind of credential. */
import { agent } from '../../src/agents/agent.ts'
import { join } from 'node:path'
import { SignJWT } from 'jose'
import { expect, onTestFinished } from 'vitest'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import type { Limits } from '../../src/core/model/limits.ts'
import type { Route } from '../../src/http/routing/route.ts'
import { openAuthenticator } from '../../src/server/auth/index.ts'
import { createKey, type NewKey, revokeKey } from '../../src/server/auth/api-keys.ts'
import { createFakeClock } from '../../src/testing/fake-clock.ts'
import { startEcho } from '../gateway/echo-server.ts'
import { type A2aServer, serveA2a } from '../protocols/a2a/serve.ts'
import { freePort } from '../support/free-port.ts'
import { call, startRun, type Target } from '../support/http.ts'
import { servedProtocols } from '../support/served-protocols.ts'
import { temporaryFolder } from '../support/temporary.ts'

/** No quotas, which would stop a walk. */
const PATIENT: Partial<Limits> = {
  maxConcurrentRuns: 100_000,
  maxAuthFailureBurst: 1_000_000,
  maxRequestsPerSecond: 1_000_000,
  maxRequestBurst: 1_000_000,
  maxRequestsPerSecondPerAddress: 1_000_000,
  maxRequestBurstPerAddress: 1_000_000,
  maxStartsPerSecond: 1_000_000,
  maxStartBurst: 1_000_000,
  maxWebhooksPerPrincipal: 1_000_000,
}

/** Texts of alice's runs, which no other caller may see. */
export const SECRET = 'the-secret-of-alice'

/** Callers that must get only 401. Revoked and expired credentials were used before. */
export const strangers = [
  'none',
  'unknown key',
  'wrong secret',
  'forged token',
  'expired token',
  'expired key',
  'revoked key',
] as const

const TOKEN_SECRET = 'a shared secret of more than 32 bytes'
const LIFETIME_S = 60
/** Longer than the tolerated clock difference of an issuer, and than a server uses an old key file. */
const LATER_MS = (LIFETIME_S + 10) * 1000

export type Caller = (typeof strangers)[number] | 'alice' | 'reader' | 'bob' | 'other tenant' | 'share link'

export interface ServedRoute {
  readonly protocol: string
  readonly route: Route
}

export interface World {
  readonly server: A2aServer
  readonly grpc: string
  readonly keys: string
  readonly routes: readonly ServedRoute[]
  readonly sockets: readonly string[]
  /** Undefined for anonymous callers. */
  readonly token: (caller: Caller) => string | undefined
}

/** Id of a component that echoes its input and waits for an approval. */
export const APPROVING = 'approving'

const approving = agent({
  id: APPROVING,
  async *run(input, { ask }) {
    yield input
    await ask({ kind: 'approval', prompt: 'Go on?' })
  },
})

export async function openWorld(): Promise<World> {
  const keys = join(temporaryFolder(), 'keys.json')
  const clock = createFakeClock(new Date().toISOString())
  const make = async (wanted: NewKey): Promise<string> => (await createKey(keys, wanted, clock)).key
  const sign = (secret: string, lifetimeS: number): Promise<string> =>
    new SignJWT({ sub: 'alice', exp: Math.ceil(clock.now() / 1000) + lifetimeS })
      .setProtectedHeader({ alg: 'HS256' })
      .sign(Buffer.from(secret))
  const alice = await make({ name: 'alice', principal: 'alice' })
  const tokens: Record<Caller, string | undefined> = {
    none: undefined,
    'unknown key': `hf_0000000000_${'0'.repeat(64)}`,
    'wrong secret': alice.replace(/[0-9a-f]{64}$/, '0'.repeat(64)),
    'forged token': await sign(TOKEN_SECRET.toUpperCase(), LIFETIME_S * 10),
    'expired token': await sign(TOKEN_SECRET, LIFETIME_S),
    'expired key': await make({ name: 'expired', principal: 'alice', expiresInMs: LIFETIME_S * 1000 }),
    'revoked key': await make({ name: 'revoked', principal: 'alice' }),
    alice,
    reader: await make({ name: 'reader', principal: 'alice', scopes: ['runs:read'] }),
    bob: await make({ name: 'bob', principal: 'bob' }),
    'other tenant': await make({ name: 'other', principal: 'alice', tenant: 'other' }),
    'share link': undefined,
  }
  const grpcPort = await freePort()
  const auth = await openAuthenticator({ keys, jwt: { key: `secret:${TOKEN_SECRET}` } }, clock)
  const { url: echoUrl } = await startEcho()
  const source = upstream.agentos(echoUrl, { passthrough: 'prefix' })
  const server = await serveA2a({ auth, a2a: { grpcPort }, components: [source, approving], limits: PATIENT })
  // Caches of valid credentials must drop them when they end.
  for (const ending of ['expired token', 'expired key', 'revoked key'] as const)
    expect((await call({ url: server.url, token: tokens[ending]! }, 'GET', '/runs')).status, ending).toBe(200)
  await revokeKey(keys, 'revoked', clock)
  clock.advance(LATER_MS)
  tokens['share link'] = await linkOfSomeRun({ url: server.url, token: alice })
  const { protocols, close } = await servedProtocols(server.service, server.store, [source])
  onTestFinished(close)
  return {
    server,
    grpc: `127.0.0.1:${grpcPort}`,
    keys,
    routes: protocols.flatMap(({ name, routes }) => routes.map((route) => ({ protocol: name, route }))),
    sockets: protocols.flatMap(({ upgrades = [] }) => upgrades.map(({ path }) => path)),
    token: (caller) => tokens[caller],
  }
}

/** Allows everything that a link can allow, to one of alice's runs. */
async function linkOfSomeRun(alice: Target): Promise<string> {
  const { id } = await startRun(alice, 'say kelp')
  const body = { can: ['read', 'answer', 'stop'] }
  const made = await call<{ path: string }>(alice, 'POST', `/runs/${id}/shares`, { body })
  return new URL(made.body.path, alice.url).searchParams.get('share')!
}
