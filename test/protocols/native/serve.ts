/** A server for one test of the native protocol: the lab, a few more components, and low limits. */
import type { Component } from '../../../src/core/ports/component.ts'
import type { Limits } from '../../../src/core/model/limits.ts'
import type { Store } from '../../../src/core/ports/store.ts'
import type { Server, ServerOptions } from '../../../src/server/create-server.ts'
import { agent } from '../../../src/agents/agent.ts'
import { askDecision } from '../../../src/agents/shared/approval.ts'
import { labComponents } from '../../../src/agents/lab/kinds.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { openSqliteStore } from '../../../src/stores/sqlite/index.ts'
import { serveInProcess } from '../../support/in-process.ts'
import { temporaryDatabase } from '../../support/temporary.ts'

/** Returns its input. */
const echo = agent<unknown>({
  id: 'echo',
  // oxlint-disable-next-line require-yield -- an agent may have nothing to say
  async *run(input, { sessionId: session, metadata }) {
    return { input, session, metadata }
  },
})

/** Asks two questions at once. */
const surveyor = agent<unknown>({
  id: 'surveyor',
  // oxlint-disable-next-line require-yield -- its answer is what it returns
  async *run(_input, context) {
    return Promise.all([context.ask({ prompt: 'How long?' }), context.ask({ prompt: 'How wide?', kind: 'choice' })])
  },
})

/** Asks for an approval, like tools do. */
const approver = agent<unknown>({
  id: 'approver',
  // oxlint-disable-next-line require-yield -- its answer is what it returns
  async *run(input, context) {
    return askDecision(context, { tool: 'rm', input })
  },
})

/** Takes one run of a session at a time. */
const single = agent<unknown>({
  id: 'single',
  onBusySession: 'reject',
  async *run(_input, { signal }) {
    yield 'busy'
    await new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))))
  },
})

const extraComponents: readonly Component[] = [echo, surveyor, approver, single]

/** Short timeouts, so that tests need not wait. */
export const quickLimits: Partial<Limits> = {
  retryDelayMs: 20,
  longPollTimeoutMs: 10_000,
  stopGraceMs: 50,
  drainTimeoutMs: 0,
}

export interface NativeServer extends Server {
  readonly store: Store
  readonly port: number
  /** Mount point; empty for a standalone server. */
  readonly base: string
}

export interface NativeOptions extends Partial<Omit<ServerOptions, 'store'>> {
  readonly store?: 'memory' | 'sqlite' | Store
}

export async function serveNative({
  store = 'memory',
  components = [],
  ...options
}: NativeOptions = {}): Promise<NativeServer> {
  const opened = await open(store)
  const server = await serveInProcess({
    ...options,
    store: opened,
    components: [...labComponents(), ...extraComponents, ...components],
    limits: { ...quickLimits, ...options.limits },
  })
  const { port, pathname } = new URL(server.url)
  return { ...server, store: opened, port: Number(port), base: pathname === '/' ? '' : pathname }
}

async function open(store: 'memory' | 'sqlite' | Store): Promise<Store> {
  if (store === 'memory') return createMemoryStore()
  return store === 'sqlite' ? openSqliteStore({ path: temporaryDatabase() }) : store
}
