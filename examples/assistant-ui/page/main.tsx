import { useChat } from '@ai-sdk/react'
import {
  AssistantRuntimeProvider,
  ComposerPrimitive,
  ErrorPrimitive,
  MessagePrimitive,
  ThreadPrimitive,
  type ToolCallMessagePartProps,
} from '@assistant-ui/react'
import { useAISDKRuntime } from '@assistant-ui/react-ai-sdk'
import { lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai'
import { HoldfastChatTransport } from 'holdfast/ai-sdk'
import { createRoot } from 'react-dom/client'

const transport = new HoldfastChatTransport({ api: '/api/chat' })

/** Reload it, open it twice, kill the server while it answers: the chat goes on. */
function Chat({ id, messages }: { readonly id: string; readonly messages: UIMessage[] }) {
  const chat = useChat({
    id,
    messages,
    resume: true,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const runtime = useAISDKRuntime(chat)
  return (
    <AssistantRuntimeProvider runtime={runtime}>
      <ThreadPrimitive.Root>
        <ThreadPrimitive.Viewport>
          <ThreadPrimitive.Messages components={{ UserMessage: Message, AssistantMessage: Message }} />
        </ThreadPrimitive.Viewport>
        <ComposerPrimitive.Root>
          <ComposerPrimitive.Input aria-label="Message" />
          <ComposerPrimitive.Send>Send</ComposerPrimitive.Send>
          <button type="button" onClick={() => void transport.stop(id)}>
            Stop
          </button>
        </ComposerPrimitive.Root>
        <p role="status">{chat.status}</p>
      </ThreadPrimitive.Root>
    </AssistantRuntimeProvider>
  )
}

function Message() {
  return (
    <MessagePrimitive.Root>
      <MessagePrimitive.Parts components={{ tools: { Fallback: Call } }} />
      <MessagePrimitive.Error>
        <ErrorPrimitive.Message />
      </MessagePrimitive.Error>
    </MessagePrimitive.Root>
  )
}

/** A tool that waits for an approval. */
function Call({ toolName, args, approval, result, respondToApproval }: ToolCallMessagePartProps) {
  const isOpen = approval !== undefined && approval.approved === undefined && result === undefined
  const answer = (approved: boolean) => void respondToApproval({ approved })
  return (
    <p>
      {toolName} {JSON.stringify(args)} {result !== undefined && `returned ${JSON.stringify(result)}`}
      {isOpen && (
        <>
          <button onClick={() => answer(true)}>Yes</button>
          <button onClick={() => answer(false)}>No</button>
        </>
      )}
    </p>
  )
}

/** The address of a chat is all that a page needs to show it again. */
const id = location.pathname.slice(1) || crypto.randomUUID()
history.replaceState(undefined, '', `/${id}`)
createRoot(document.getElementById('root')!).render(<Chat id={id} messages={await transport.messages(id)} />)
