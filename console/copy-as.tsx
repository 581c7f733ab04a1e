/** Shows a start as shell command, as code, and for other protocols. */
import type { ComponentInfo, StartRequest } from 'holdfast/client'
import { useState } from 'react'
import { serverUrl } from './mount-point.ts'
import { CopyButton } from './parts.tsx'

export interface CopyAsProps {
  readonly request: StartRequest
  readonly kind: ComponentInfo['kind']
  readonly keyed: boolean
}

const TITLES = { curl: 'curl', client: 'Client', openai: 'OpenAI', agentos: 'AgentOS', a2a: 'A2A' } as const
type Form = keyof typeof TITLES

export function CopyAs({ request, kind, keyed }: CopyAsProps) {
  const [form, setForm] = useState<Form>('curl')
  const text = forms[form](request, kind, keyed)
  return (
    <section className="copy-as" aria-label="As code">
      <header>
        <div className="segmented" role="group" aria-label="Form">
          {(Object.keys(TITLES) as Form[]).map((name) => (
            <button key={name} type="button" aria-pressed={name === form} onClick={() => setForm(name)}>
              {TITLES[name]}
            </button>
          ))}
        </div>
        <CopyButton text={text}>Copy</CopyButton>
      </header>
      <pre tabIndex={0} aria-label={`As ${TITLES[form]}`}>
        {text}
      </pre>
    </section>
  )
}

/** Placeholder: the key itself is never copied, so it cannot be pasted by mistake. */
const KEY = '$HOLDFAST_KEY'

const forms: Readonly<Record<Form, (request: StartRequest, kind: ComponentInfo['kind'], keyed: boolean) => string>> = {
  curl: (request, _kind, keyed) =>
    [
      `curl -N ${serverUrl}/runs`,
      `  -H 'accept: text/event-stream'`,
      ...(keyed ? [`  -H "authorization: Bearer ${KEY}"`] : []),
      `  --json ${quoted(JSON.stringify(request))}`,
    ].join(' \\\n'),
  client: (request, _kind, keyed) => `import { createClient } from 'holdfast/client'

const client = createClient({ url: '${serverUrl}'${keyed ? ', key: process.env.HOLDFAST_KEY' : ''} })
const run = await client.runs.start(${JSON.stringify(request, undefined, 2)})
for await (const piece of run.text()) process.stdout.write(piece)`,
  openai: ({ component, input, session }, _kind, keyed) => `import OpenAI from 'openai'

const openai = new OpenAI({
  baseURL: '${serverUrl}/v1',
  apiKey: ${keyed ? 'process.env.HOLDFAST_KEY' : `'none'`},${sessionHeader(session)}
})
const stream = await openai.chat.completions.create({
  model: ${JSON.stringify(component)},
  messages: [{ role: 'user', content: ${JSON.stringify(textOf(input))} }],
  stream: true,
})
for await (const { choices } of stream) process.stdout.write(choices[0]?.delta.content ?? '')`,
  agentos: ({ component, input, session }, kind, keyed) =>
    [
      `curl -N ${serverUrl}/${kind}s/${encodeURIComponent(component)}/runs`,
      ...(keyed ? [`  -H "authorization: Bearer ${KEY}"`] : []),
      `  --form-string ${quoted(`message=${textOf(input)}`)}`,
      ...(session === undefined ? [] : [`  --form-string ${quoted(`session_id=${session}`)}`]),
      `  -F stream=true`,
    ].join(' \\\n'),
  a2a({ component, input, session }, _kind, keyed) {
    const message = {
      role: 'ROLE_USER',
      messageId: MESSAGE_ID,
      ...(session !== undefined && { contextId: session }),
      parts: [typeof input === 'string' ? { text: input } : { data: input }],
    }
    const body = { jsonrpc: '2.0', id: 1, method: 'SendStreamingMessage', params: { message } }
    return [
      `curl -N ${serverUrl}/a2a/${encodeURIComponent(component)}`,
      `  -H 'A2A-Version: 1.0'`,
      ...(keyed ? [`  -H "authorization: Bearer ${KEY}"`] : []),
      `  --json ${quoted(JSON.stringify(body))}`,
    ].join(' \\\n')
  },
}

/** Agents may deduplicate messages by id, so it is unique. */
const MESSAGE_ID = `message-${Math.random().toString(36).slice(2)}`

/** Header values must be ASCII. */
function sessionHeader(session: string | undefined): string {
  if (session === undefined || !/^[\x20-\x7e]+$/.test(session)) return ''
  return `\n  defaultHeaders: { 'holdfast-session': ${JSON.stringify(session)} },`
}

function textOf(input: unknown): string {
  return typeof input === 'string' ? input : JSON.stringify(input)
}

function quoted(text: string): string {
  return `'${text.replaceAll(`'`, `'\\''`)}'`
}
