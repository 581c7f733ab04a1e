/** A server for one test of this protocol. */
import { labComponents } from '../../../src/agents/lab/kinds.ts'
import { agent } from '../../../src/agents/agent.ts'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { events } from '../../../src/core/model/slice.ts'
import type { LoggedEvent } from '../../../src/core/model/event.ts'
import type { Server } from '../../../src/server/create-server.ts'
import { createMemoryStore } from '../../../src/stores/memory.ts'
import { RunText } from '../../../src/client/index.ts'
import { type InProcessOptions, serveInProcess } from '../../support/in-process.ts'
import { clerk } from '../agentos/components.ts'
import { forecaster } from '../openai/components.ts'

export interface ChatServer extends Server {
  /** Address of a component's chat. */
  readonly api: (component: string) => string
}

/** Emits its input. */
export const echo = agent<unknown>({
  id: 'echo',
  async *run(input) {
    yield 'You said: '
    yield typeof input === 'string' ? input : JSON.stringify(input)
  },
})

export async function serveChats({ components = [], ...options }: InProcessOptions = {}): Promise<ChatServer> {
  const server = await serveInProcess({
    store: createMemoryStore(),
    ...options,
    components: [...labComponents(), clerk, forecaster, echo, ...components],
    limits: { retryDelayMs: 20, stopGraceMs: 50, ...options.limits },
  })
  return { ...server, api: (component) => `${server.url}/ai/${component}/chat` }
}

/** The newest run's log. */
export async function newestLog({ service }: Server): Promise<LoggedEvent[]> {
  const { runs } = await service.list(localPrincipal, { limit: 1 })
  const log: LoggedEvent[] = []
  for (let after = -1; ;) {
    const slice = await service.read(localPrincipal, runs[0]!.run.id, after)
    if (slice === undefined) return log
    log.push(...events(slice))
    after = log.at(-1)!.index
  }
}

/** The text of the newest run, as its log has it. */
export async function newestText(server: Server): Promise<string> {
  const text = new RunText()
  for (const event of await newestLog(server)) text.apply(event)
  return text.value
}
