/**
 * A chat in Next.js with `useChat`, whose back end is the application itself, at /api/chat. `next start` is killed while the chat
 * waits for an approval and started again; the approval continues the answer, and the page shows it.
 *
 * Run it: node --conditions=holdfast-source examples/next-chat/main.ts [PORT]
 * First, in a copy of this folder: npm install holdfast ai @ai-sdk/react next react react-dom zod, and npx next build.
 * To look at it: npx next dev, and open the address that it prints.
 * Expect: the approval is asked for once, and the answer is whole.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isToolUIPart, readUIMessageStream, type UIMessage, type UIMessageChunk } from 'ai'
import { HoldfastChatTransport } from 'holdfast/ai-sdk'

const [, , port = '7788', folder = import.meta.dirname, next = 'node_modules/next/dist/bin/next'] = process.argv
const url = `http://127.0.0.1:${port}`
const data = mkdtempSync(join(tmpdir(), 'holdfast-example-'))

function startServer() {
  return spawn(process.execPath, [next, 'start', '--port', port], {
    cwd: folder,
    env: { ...process.env, DATABASE: join(data, 'chats.db') },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

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

let server = startServer()
try {
  // The transport retries until the server listens, now and after the kill.
  const transport = new HoldfastChatTransport({ api: `${url}/api/chat` })
  const question: UIMessage = { id: 'u1', role: 'user', parts: [{ type: 'text', text: 'Send 25 to Ada' }] }
  const request = { chatId: 'c1', trigger: 'submit-message', messageId: undefined, abortSignal: undefined } as const
  const asked = await show(await transport.sendMessages({ ...request, messages: [question] }))

  server.kill('SIGKILL')
  await once(server, 'exit')
  console.log('killed')
  server = startServer()

  const approved = asked.parts.map((part) =>
    isToolUIPart(part) && part.state === 'approval-requested'
      ? { ...part, state: 'approval-responded' as const, approval: { ...part.approval, approved: true } }
      : part,
  ) as UIMessage['parts']
  const answer = { ...asked, parts: approved }
  await show(await transport.sendMessages({ ...request, messages: [question, answer] }), answer)

  const page = await (await fetch(`${url}/c1`)).text()
  console.log(`the page shows it: ${page.includes('It is sent.')}`)
} finally {
  server.kill('SIGKILL')
  rmSync(data, { recursive: true, force: true })
}
