/** `holdfast/ai-sdk/server`: routes that exist, with durable streams. */
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
export { durableStreams } from './durable-component.ts'

let shared: DurableStreams | undefined

/** Streams of the default store, `sqlite:.holdfast/durable-streams.db`. */
function streams(): DurableStreams {
  return (shared ??= createDurableStreams())
}

/** In a route: `return durable(streamText(…), body)`. The stream is read to its end, whoever listens, and every chunk is in the log. */
export const durable: DurableStreams['durable'] = (source, chat) => streams().durable(source, chat)

/** In a route for `GET …/{id}/stream`: the newest message from its start, or 204. */
export const resume: DurableStreams['resume'] = (chatId, owner) => streams().resume(chatId, owner)

/** Stops the streams of a chat, durably. */
export const stop: DurableStreams['stop'] = (chatId, owner) => streams().stop(chatId, owner)

/** The newest messages of a chat, for `messages` of `useChat`. */
export const load: DurableStreams['load'] = (chatId, owner) => streams().load(chatId, owner)
