/** `holdfast/ai-sdk/server`: makes the streams of existing chat routes durable. For agents served by Holdfast, `hf.chats` does the same. */
import { createDurableChats, type DurableChats } from './durable.ts'

export {
  type ChatOwner,
  createDurableChats,
  type DurableChat,
  type DurableInput,
  type DurableSource,
  type DurableChats,
  type DurableChatsOptions,
  type StreamResult,
} from './durable.ts'
export { durableChatComponent } from './durable-component.ts'

let shared: DurableChats | undefined

/** Chats of the default store, `sqlite:.holdfast/durable-chats.db`. */
function streams(): DurableChats {
  return (shared ??= createDurableChats())
}

/**
 * In a route: `return durable(streamText(…), body)`. The stream is read to its end, whether or not anybody listens, and every chunk
 * is logged.
 */
export const durable: DurableChats['durable'] = (source, chat) => streams().durable(source, chat)

/** Durable chats. In a route for `GET …/{id}/stream`: `return chats.resume(id)`, which is the newest message from its start, or 204. */
export const chats: Pick<DurableChats, 'load' | 'resume' | 'stop'> = {
  load: (chatId, owner) => streams().load(chatId, owner),
  resume: (chatId, owner) => streams().resume(chatId, owner),
  stop: (chatId, owner) => streams().stop(chatId, owner),
}
