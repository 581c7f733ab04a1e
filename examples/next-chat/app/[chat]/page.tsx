import type { UIMessage } from 'ai'
import { hf } from '../../agents.ts'
import { Chat } from './chat.tsx'

/** The logs are the chat's history: nothing else is stored. */
export default async function Page({ params }: { readonly params: Promise<{ readonly chat: string }> }) {
  const { chat } = await params
  return <Chat id={chat} messages={await hf.chats.load<UIMessage>(chat)} />
}
