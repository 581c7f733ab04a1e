'use client'
import { useChat } from '@ai-sdk/react'
import { isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai'
import { HoldfastChatTransport } from 'holdfast/ai-sdk'
import { type FormEvent, useState } from 'react'

const transport = new HoldfastChatTransport({ api: '/api/chat' })

/** Reload it, open it twice, kill the server while it waits for an approval: the chat goes on. */
export function Chat({ id, messages: initial }: { readonly id: string; readonly messages: UIMessage[] }) {
  const [text, setText] = useState('')
  const { messages, status, error, sendMessage, addToolApprovalResponse } = useChat({
    id,
    messages: initial,
    resume: true,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const send = (event: FormEvent) => {
    event.preventDefault()
    void sendMessage({ text })
    setText('')
  }
  return (
    <main>
      {messages.map((message) => (
        <section key={message.id}>
          <h2>{message.role}</h2>
          {message.parts.map((part, index) => {
            if (part.type === 'text') return <p key={index}>{part.text}</p>
            if (!isToolUIPart(part) || part.state !== 'approval-requested') return null
            const { id: approval, requestReason } = part.approval
            const answer = (approved: boolean) => void addToolApprovalResponse({ id: approval, approved })
            return (
              <p key={index}>
                {requestReason} <button onClick={() => answer(true)}>Yes</button>
                <button onClick={() => answer(false)}>No</button>
              </p>
            )
          })}
        </section>
      ))}
      <form onSubmit={send}>
        <input aria-label="Message" value={text} onChange={(event) => setText(event.target.value)} />
        <button disabled={status !== 'ready'}>Send</button>
        <button type="button" onClick={() => void transport.stop(id)}>
          Stop
        </button>
      </form>
      <p role="status">{error?.message ?? status}</p>
    </main>
  )
}
