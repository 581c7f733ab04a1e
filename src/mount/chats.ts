/** Chats of the AI SDK in process: history for pages that a server renders, streams for routes of the application. */
import type { StoredUIMessage } from '../ai-sdk/view/history.ts'
import { localPrincipal, type Principal } from '../core/model/principal.ts'
import { HoldfastError } from '../core/model/errors.ts'

/** Selects a chat: its component and its owner. */
export interface ChatOptions {
  /** Default: the only component. */
  readonly component?: string
  /** Owner of the chat. Default: the principal `local`, as for `runs`. */
  readonly principal?: Principal
  /** Tool parts: `tool-<name>` or `dynamic-tool`. Default: `dynamic`. */
  readonly toolParts?: 'static' | 'dynamic'
}

/** Options of `chats.load`. */
export interface LoadChatOptions extends ChatOptions {
  /** Aborts the call. Default: none. */
  readonly signal?: AbortSignal
}

/** AI SDK chats in process: `hf.chats`. */
export interface Chats {
  /** The newest messages of a chat, for `messages` of `useChat`. Empty for an unknown chat. */
  load<Message = StoredUIMessage>(chatId: string, options?: LoadChatOptions): Promise<Message[]>
  /** The response to a `useChat` that resumes: the newest message from its start, or 204 if there is nothing to resume. */
  resume(chatId: string, options?: ChatOptions): Promise<Response>
  /** Stops the chat's runs, durably. */
  stop(chatId: string, options?: ChatOptions): Promise<void>
}

/** `path`: path of the protocol, below the mount point. */
export interface ChatServer {
  readonly url: string
  readonly path: string
  readonly components: () => readonly string[]
  fetchAs(principal: Principal, request: Request): Promise<Response>
}

export function chatsOf(server: ChatServer): Chats {
  const send = async (
    chatId: string,
    what: 'stream' | 'stop' | 'messages',
    { component = onlyOne(server.components()), principal = localPrincipal, toolParts }: ChatOptions,
    init: RequestInit = {},
  ): Promise<Response> => {
    const path = server.path.replace('{component}', encodeURIComponent(component))
    const url = new URL(`${server.url}${path}/${encodeURIComponent(chatId)}/${what}`)
    if (path === server.path) url.searchParams.set('component', component)
    if (toolParts !== undefined) url.searchParams.set('tools', toolParts)
    const response = await server.fetchAs(principal, new Request(url, init))
    if (response.ok) return response
    const code = response.headers.get('holdfast-error') ?? 'internal'
    throw new HoldfastError(code as HoldfastError['code'], await response.text())
  }
  return {
    async load(chatId, { signal, ...options } = {}) {
      const response = await send(chatId, 'messages', options, signal && { signal })
      return ((await response.json()) as { messages: never[] }).messages
    },
    resume: (chatId, options = {}) => send(chatId, 'stream', options),
    async stop(chatId, options = {}) {
      await send(chatId, 'stop', options, { method: 'POST' })
    },
  }
}

function onlyOne(components: readonly string[]): string {
  const [only, ...others] = components
  if (only !== undefined && others.length === 0) return only
  throw new HoldfastError('invalid_request', `there are ${components.length} components: select one with { component }`)
}
