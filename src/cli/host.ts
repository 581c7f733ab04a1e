/** Runs a server as a process: says where it is, drains when it is told to end. */
import * as module from 'node:module'
import type { Component } from '../core/agent.ts'
import { Registry } from '../core/registry.ts'
import type { Store } from '../core/store.ts'
import { openAuthenticator } from '../server/auth/index.ts'
import type { StoreConfig } from '../server/config-options.ts'
import type { Config } from '../server/config.ts'
import { createServer, type Server } from '../server/create-server.ts'
import { openA2a } from '../server/open-a2a.ts'
import { openStore } from '../server/open-store.ts'
import { natsText } from '../server/nats-address.ts'
import { withoutPassword } from '../server/postgres-address.ts'
import type { CommandIo } from './io.ts'
import { lazyLogger } from './lazy-logger.ts'
import { boundYoungGeneration } from './young-generation.ts'

/** Serves until SIGTERM or SIGINT; resolves with the exit code. */
export async function hostServer(
  config: Config,
  components: readonly Component[],
  io: CommandIo,
  nextSteps: (url: string, server: Server) => string,
  opening?: Promise<Store>,
): Promise<number> {
  const ending = nextSignal()
  boundYoungGeneration()
  const registered = new Registry(components) // before anything is made on disk
  const authenticator = await openAuthenticator(config.auth)
  const a2a = await openA2a(config.a2a, registered)
  const logger = lazyLogger(config.logLevel)
  const store = await (opening ?? openStore(config.store))
  process.on('unhandledRejection', (cause) => {
    // Some component left a promise alone. Its run is its own business; the others' go on.
    logger.error({ err: cause }, 'unhandled rejection')
  })
  let server: Server
  try {
    const { host, port, limits, corsOrigins } = config
    server = await createServer({
      components: registered.list(),
      store,
      host,
      port,
      limits,
      authenticator,
      corsOrigins,
      a2a,
      supervised: process.connected, // by a channel to whoever watches over this process
      logger,
    })
  } catch (cause) {
    await store.close()
    throw cause
  }
  io.stdout.write(
    `Holdfast listens at ${server.url}\nIt is process ${process.pid}, and keeps runs in ${describeStore(config.store)}\n${nextSteps(server.url, server)}`,
  )
  module.flushCompileCache() // now: a server may be killed rather than ended
  const signal = await ending
  io.stderr.write(`${signal}: draining, at most ${config.limits.drainMs ?? 0} ms\n`)
  await server.stop()
  return 0
}

export function describeStore(store: StoreConfig): string {
  if (store.kind === 'postgres') return withoutPassword(store.url)
  if (store.kind === 'nats') return natsText(store)
  return store.kind === 'sqlite' ? store.path : 'memory, until this process ends'
}

/** The signal that asks this process to end. */
export function nextSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => resolve(signal))
    process.once('disconnect', () => resolve('SIGHUP')) // whoever watches over this process is gone
  })
}
