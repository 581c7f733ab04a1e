/** `holdfast/ai-sdk`: the client side of AI SDK chats, such as the transport of `useChat`. Routes of a server: `holdfast/ai-sdk/server`. */
export {
  type ChatTransportOptions,
  HoldfastChatTransport,
  type ReconnectOptions,
  type SendOptions,
} from './chat-transport.ts'
export { toUIMessages, type ToUIMessagesOptions } from './to-ui-messages.ts'
