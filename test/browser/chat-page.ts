/** Test page with one `useChat` chat. The test reads what it shows. */
import { useChat } from '@ai-sdk/react'
import { DefaultChatTransport, isToolUIPart, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai'
import { createElement as h, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { HoldfastChatTransport } from '../../src/ai-sdk/index.ts'

const [, , component, id] = location.pathname.split('/')
const api = `/ai/${component}/chat`
const options = new URLSearchParams(location.search)
const idleTimeoutMs = Number(options.get('idle') ?? 45_000)
const transport =
  options.get('transport') === 'holdfast'
    ? new HoldfastChatTransport({ api, idleTimeoutMs })
    : new DefaultChatTransport({ api })

function Shown() {
  const chat = useChat({
    id: id!,
    resume: true,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  })
  const last = chat.messages.at(-1)
  const tools = last?.parts.filter(isToolUIPart) ?? []
  const requested = tools.find(({ state }) => state === 'approval-requested')?.approval
  const approve = (): void => void chat.addToolApprovalResponse({ id: requested!.id, approved: true })
  return h(
    'main',
    null,
    h('input', { id: 'input', defaultValue: '' }),
    h('button', { id: 'send', onClick: () => void chat.sendMessage({ text: valueOf('input') }) }, 'Send'),
    h('button', { id: 'stop', onClick: () => void fetch(`${api}/${id}/stop`, { method: 'POST' }) }, 'Stop'),
    h('button', { id: 'approve', onClick: approve }, 'Approve'),
    h('p', { id: 'status' }, chat.status),
    h('p', { id: 'count' }, String(chat.messages.length)),
    h('p', { id: 'text' }, last?.parts.map((part) => (part.type === 'text' ? part.text : '')).join('') ?? ''),
    h('p', { id: 'asked' }, requested?.requestReason ?? ''),
    h('p', { id: 'error' }, chat.error?.message ?? ''),
  )
}

function valueOf(name: string): string {
  return (document.getElementById(name) as HTMLInputElement).value
}

createRoot(document.getElementById('root')!).render(h(StrictMode, null, h(Shown)))
