/**
 * A server to be fuzzed, as a process of its own: `node program.ts DATABASE`. It reports to its parent where it listens and what it
 * serves. Between `begin` and `end` it measures how long one turn of its event loop takes, in CPU time of the thread, so that
 * other processes on the machine change nothing.
 */
import { Resolver } from 'node:dns/promises'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, Socket } from 'node:net'
import { upstream } from '../../src/agents/upstream/upstream.ts'
import type { Limits } from '../../src/core/model/limits.ts'
import type { Logger } from '../../src/core/ports/logger.ts'
import { createServer } from '../../src/server/create-server.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { freePort } from '../support/free-port.ts'
import { servedProtocols } from '../support/served-protocols.ts'
import { longestTurnMs } from '../support/event-loop-stall.ts'
import { fuzzComponents } from './components.ts'
import { KEY, type Measured, type Ready, type ToProgram } from './messages.ts'

/** Bounds that a fuzzer reaches in seconds; quotas that are there to stop one are off. */
const limits: Partial<Limits> = {
  maxConcurrentRuns: 100_000,
  maxAuthFailureBurst: 1_000_000,
  maxRequestsPerSecondPerAddress: 0,
  maxWebhooksPerPrincipal: 1_000_000,
  maxWebhooksPerTask: 1_000_000,
  retryDelayMs: 20,
  longPollTimeoutMs: 100,
  heartbeatIntervalMs: 200,
  stopGraceMs: 50,
  drainTimeoutMs: 0,
  socketAuthTimeoutMs: 60_000,
}

/** Errors that the server logged since the last call. */
let errors: string[] = []
const ERRORS_MAX = 20

const nothing = (): void => {}
const logger: Logger = {
  debug: nothing,
  info: nothing,
  warn: nothing,
  error(fields, message) {
    const { err } = fields as { readonly err?: Error }
    if (errors.length < ERRORS_MAX) errors.push(`${message}: ${err?.stack ?? ''}`)
  },
}

const upstreamPort = await startUpstream()
confineToLoopback(upstreamPort)
const store = await openSqliteStore({ path: process.argv[2]!, logger })
const grpcPort = await freePort()
const source = upstream.agentos(`http://127.0.0.1:${upstreamPort}`, { passthrough: 'prefix' })
const server = await createServer({
  store,
  components: [...fuzzComponents(), source],
  auth: { securityKey: KEY },
  limits,
  logger,
  a2a: { push: true, grpcPort },
})
const { protocols, close } = await servedProtocols(server.service, store, [source])
close()
const ready: Ready = {
  url: server.url,
  grpc: `127.0.0.1:${grpcPort}`,
  routes: protocols.flatMap(({ name, routes }) => routes.map(({ method, path }) => ({ protocol: name, method, path }))),
  sockets: protocols.flatMap(({ upgrades = [] }) => upgrades.map(({ path }) => path)),
}

let finish = (): void => {}

process.on('message', (message: ToProgram) => {
  if (message === 'end') return finish()
  const { promise, resolve } = Promise.withResolvers<void>()
  finish = resolve
  void report(promise)
})
process.on('disconnect', () => process.exit())
process.send!(ready)

async function report(ended: Promise<void>): Promise<void> {
  const longestMs = await longestTurnMs(() => ended)
  const measured: Measured = { longestMs, errors }
  errors = []
  process.send!(measured)
}

/** Upstream of passed requests: it has no agents, and responds to everything else. */
async function startUpstream(): Promise<number> {
  const other = createHttpServer((request, response) => {
    request.resume().on('end', () => {
      response.setHeader('content-type', 'application/json')
      response.end(/^\/(agents|teams|workflows)$/.test(request.url ?? '') ? '[]' : '{}')
    })
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  return (other.address() as AddressInfo).port
}

/** Webhooks accept any address, and none of them is contacted. */
function confineToLoopback(port: number): void {
  const connect = Reflect.get(Socket.prototype, 'connect') as (...args: unknown[]) => Socket
  Resolver.prototype.resolve4 = refuseToResolve
  Resolver.prototype.resolve6 = refuseToResolve
  Socket.prototype.connect = function (this: Socket, ...args: unknown[]): Socket {
    const isUpstream = args
      .flat()
      .some((each) => String((each as { readonly port?: unknown } | null)?.port) === String(port))
    return isUpstream ? Reflect.apply(connect, this, args) : refuseToConnect.call(this)
  }
}

async function refuseToResolve(): Promise<never> {
  throw new Error('a fuzzed server looks up no names')
}

function refuseToConnect(this: Socket): Socket {
  return this.destroy(new Error('a fuzzed server connects to nobody'))
}
