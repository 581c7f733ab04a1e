/** What a model is told of what was said before its run. */
import type { ModelMessage } from 'ai'
import type { HistoryOptions, RunContext } from '../../core/ports/component.ts'
import { messagesOf, type ModelInput } from './input.ts'

/** `false` for nothing; bounds of what is taken from the session's earlier runs; or a function that gives it from elsewhere. */
export type AgentHistory =
  | false
  | HistoryOptions
  | ((context: RunContext) => readonly ModelMessage[] | Promise<readonly ModelMessage[]>)

/** Of what a function gives, which is in the log, so that a recovered run asks the same: it must not outgrow an event. */
const GIVEN_MESSAGES_MAX = 200
const GIVEN_CHARS_MAX = 500_000

/** The messages of a run: those of before, and the input. */
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
  // A caller that gives the answers too gives the whole conversation, unless it says that it goes on with the session's.
  const isWhole = messages.some(({ role }) => role !== 'user') && !(typeof input === 'object' && 'continues' in input)
  if (isWhole) return []
  return (await context.history(history)).map(({ role, content }) => ({ role, content }))
}

/** The newest messages that fit, from a user's one on: a model must not get half of an exchange. */
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
