/** AG-UI's own client, with a record of its messages and state. */
import { type AgentSubscriber, HttpAgent, type Interrupt, type Message } from '@ag-ui/client'
import { vi } from 'vitest'
import { quietFetch } from '../../../src/ag-ui/quiet-fetch.ts'

export interface Concluded {
  /** `success`, `interrupt` or `cancelled`, or the message of a `RUN_ERROR`, or `failed: …` for an error of the client. */
  readonly outcomes: string[]
  interrupts: readonly Interrupt[]
  pendingToolCallIds: readonly string[]
}

export function record(): { readonly concluded: Concluded; readonly subscriber: AgentSubscriber } {
  // The client also reports what it throws there.
  vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const concluded: Concluded = { outcomes: [], interrupts: [], pendingToolCallIds: [] }
  const subscriber: AgentSubscriber = {
    onRunFinishedEvent(finished) {
      concluded.outcomes.push(finished.outcome)
      if (finished.outcome === 'interrupt') concluded.interrupts = finished.interrupts
      if (finished.outcome === 'success') concluded.pendingToolCallIds = finished.pendingToolCallIds ?? []
    },
    onRunErrorEvent: ({ event }) => void concluded.outcomes.push(event.message),
    onRunFailed: ({ error }) => void concluded.outcomes.push(`failed: ${error.message}`),
  }
  return { concluded, subscriber }
}

export function agentAt(url: string, threadId: string, initialMessages: readonly Message[] = []): HttpAgent {
  return new HttpAgent({ url, threadId, fetch: quietFetch(), initialMessages: structuredClone([...initialMessages]) })
}

export function say(agent: HttpAgent, content: string): void {
  agent.addMessage({ id: `user-${agent.messages.length}`, role: 'user', content })
}

/** The agent's own text. */
export function textIn(messages: readonly Message[]): string {
  return messages
    .flatMap((message) =>
      message.role === 'assistant' && message.subagentRunId === undefined ? [message.content ?? ''] : [],
    )
    .join('')
}
