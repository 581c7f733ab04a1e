/** `holdfast/ai-sdk/server`: makes the streams of existing chat routes durable. For agents served by Holdfast, `hf.chats` does the same. */
import { createDurableStreams, type DurableStreams } from './durable.ts'

export {
  type ChatOwner,
  createDurableStreams,
  type DurableChat,
  type DurableInput,
  type DurableSource,
  type DurableStreams,
  type DurableStreamsOptions,
  type StreamResult,
} from './durable.ts'
export { durableStreamComponent } from './durable-component.ts'

let shared: DurableStreams | undefined

/** Streams of the default store, `sqlite:.holdfast/durable-streams.db`. */
function streams(): DurableStreams {
  return (shared ??= createDurableStreams())
}

/**
 * In a route: `return durable(streamText(…), body)`. The stream is read to its end, whether or not anybody listens, and every chunk
 * is logged.
 */
export const durable: DurableStreams['durable'] = (source, chat) => streams().durable(source, chat)

/** Durable chats. In a route for `GET …/{id}/stream`: `return chats.resume(id)`, which is the newest message from its start, or 204. */
export const chats: Pick<DurableStreams, 'load' | 'resume' | 'stop'> = {
  load: (chatId, owner) => streams().load(chatId, owner),
  resume: (chatId, owner) => streams().resume(chatId, owner),
  stop: (chatId, owner) => streams().stop(chatId, owner),
}
