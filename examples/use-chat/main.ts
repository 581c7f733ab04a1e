/**
 * A chat of the AI SDK that loses its connection, is resumed, and approves a tool call. A page does the same with `useChat`.
 * The model is scripted and needs no key; use any AI SDK model in its place.
 *
 * Run it: node --conditions=holdfast-source examples/use-chat/main.ts
 * Expect: the resumed message is whole, and the approval continues it.
 */
import { isToolUIPart, readUIMessageStream, tool, type UIMessage, type UIMessageChunk } from 'ai'
import { agent, createServer, createMemoryStore } from 'holdfast'
import { scriptedModel } from 'holdfast/ai'
import { HoldfastChatTransport } from 'holdfast/ai-sdk'
import { createClient } from 'holdfast/client'
import { z } from 'zod'

const bank = agent({
  id: 'bank',
  tools: {
    send: tool({ inputSchema: z.object({ amount: z.number() }), needsApproval: true, execute: ({ amount }) => amount }),
  },
  model: scriptedModel({
    script: ({ results }) =>
      results.length === 0
        ? ['I will send it. ', { type: 'tool', name: 'send', input: { amount: 25 } }]
        : 'It is sent.',
  }),
})

const server = await createServer({ components: [bank], store: createMemoryStore() })
const transport = new HoldfastChatTransport({ api: `${server.url}/ai/bank/chat` })

/** What `useChat` does with a stream: builds the message. */
async function show(stream: ReadableStream<UIMessageChunk>, message?: UIMessage): Promise<UIMessage> {
  let last: UIMessage | undefined
  for await (const state of readUIMessageStream({ stream, ...(message !== undefined && { message }) })) last = state
  const parts = last!.parts.map((part) =>
    part.type === 'text' ? part.text : isToolUIPart(part) ? part.state : part.type,
  )
  console.log(parts.filter((part) => part !== 'step-start').join(' | '))
  return last!
}

const question: UIMessage = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Send 25 to Ada' }] }
const request = { chatId: 'c1', trigger: 'submit-message', messageId: undefined, abortSignal: undefined } as const
const lost = await transport.sendMessages({ ...request, messages: [question] })
await lost.cancel() // the page is closed; the run continues

const resumed = await transport.reconnectToStream({ chatId: 'c1' })
const asked = await show(resumed!)

const approved = asked.parts.map((part) =>
  isToolUIPart(part) && part.state === 'approval-requested'
    ? { ...part, state: 'approval-responded' as const, approval: { ...part.approval, approved: true } }
    : part,
) as UIMessage['parts']
const answer = { ...asked, parts: approved }
await show(await transport.sendMessages({ ...request, messages: [question, answer] }), answer)

const history = await transport.messages('c1')
console.log(history.map(({ role }) => role).join(', '))

// The chat is a session, and its run is one like any other.
const { runs } = await createClient({ url: server.url }).sessions.runs('c1')
console.log(runs.map(({ component, status }) => `${component}: ${status}`).join())
await server.close()
