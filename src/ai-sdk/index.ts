/** `holdfast/ai-sdk`: the client side of AI SDK chats, for browsers and servers. */
export {
  type ChatTransportOptions,
  HoldfastChatTransport,
  type ReconnectOptions,
  type SendOptions,
} from './chat-transport.ts'
export { toUIMessages, type ToUIMessagesOptions } from './to-ui-messages.ts'
