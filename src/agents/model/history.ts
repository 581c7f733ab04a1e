/** Conversation history of a model agent. */
import type { HistoryOptions, RunContext } from '../../core/ports/component.ts'
import { messagesOf, type ModelInput } from './input.ts'
import type { ModelMessage } from './sdk-types.ts'

/** `false`: none. An object: limits for the session's earlier runs. A function: returns the history from elsewhere. */
export type AgentHistory =
  | false
  | HistoryOptions
  | ((context: RunContext) => readonly ModelMessage[] | Promise<readonly ModelMessage[]>)

/**
 * Limit for a function's result, which is recorded so that a recovered run sends the same request; it must fit into an event.
 */
const GIVEN_MESSAGES_MAX = 200
const GIVEN_CHARS_MAX = 500_000

/** The messages of a run: history, then input. */
export async function conversation(
  context: RunContext,
  input: ModelInput,
  history: AgentHistory = {},
): Promise<ModelMessage[]> {
  const messages = messagesOf(input)
  return [...(await earlier(context, input, messages, history)), ...messages]
}

async function earlier(
  context: RunContext,
  input: ModelInput,
  messages: readonly ModelMessage[],
  history: AgentHistory,
): Promise<readonly ModelMessage[]> {
  if (history === false) return []
  if (typeof history === 'function') return context.step('history', async () => newest(await history(context)))
  // A caller that includes assistant messages sends the whole conversation, unless it says otherwise.
  const given = typeof input === 'object' && 'continues' in input ? input.continues : undefined
  if (!(given ?? messages.every(({ role }) => role === 'user'))) return []
  return (await context.history(history)).map(({ role, content }) => ({ role, content }))
}

/** The newest messages that fit, starting with a user message: a model must not get half an exchange. */
function newest(history: readonly ModelMessage[]): ModelMessage[] {
  let chars = 0
  let first = history.length
  while (first > 0 && history.length - first < GIVEN_MESSAGES_MAX) {
    chars += JSON.stringify(history[first - 1]).length
    if (chars > GIVEN_CHARS_MAX) break
    first--
  }
  while (first < history.length && history[first]!.role !== 'user') first++
  return history.slice(first)
}
