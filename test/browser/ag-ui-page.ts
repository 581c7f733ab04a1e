/** Test page with one thread of AG-UI's client. The test reads what it shows. */
import { type AgentSubscriber, HttpAgent } from '@ag-ui/client'
import { HoldfastAgent } from '../../src/ag-ui/index.ts'

const [, , component, threadId = ''] = location.pathname.split('/')
const config = { url: `${location.origin}/ag-ui/${component}`, threadId }
const connecting = new URLSearchParams(location.search).get('agent') === 'stock' ? undefined : new HoldfastAgent(config)
const agent = connecting ?? new HttpAgent(config)

const RETRY_MS = 300
const RETRIES_MAX = 1000

document.getElementById('root')!.innerHTML = `<input id="input"><button id="send">Send</button>
  <button id="stop">Stop</button><button id="approve">Approve</button>
  <p id="status">ready</p><p id="count"></p><p id="text"></p><p id="asked"></p><p id="error"></p>`

function show(id: string, text: string): void {
  document.getElementById(id)!.textContent = text
}

let isStale = false

/** Once per frame, however many events there are. */
function draw(): void {
  if (isStale) return
  isStale = true
  requestAnimationFrame(() => {
    isStale = false
    const since = agent.messages.findLastIndex(({ role }) => role === 'user') + 1
    const answer = agent.messages.slice(since).filter(({ role }) => role === 'assistant')
    show('text', answer.map(({ content }) => (typeof content === 'string' ? content : '')).join(''))
    show('count', String(agent.messages.length))
    show('asked', agent.pendingInterrupts.map(({ message = '' }) => message).join())
  })
}

const subscriber: AgentSubscriber = {
  onRunInitialized: () => show('error', ''),
  onRunErrorEvent: ({ event }) => show('error', event.message),
  onMessagesChanged: draw,
  onRunFinalized: draw,
}

/** A connection that is lost rejects; every other end of a run resolves. */
async function follow(first: () => Promise<unknown>): Promise<void> {
  for (let work = first, failures = 0; failures < RETRIES_MAX; work = attach, failures++) {
    show('status', 'streaming')
    try {
      await work()
      draw()
      return show('status', document.getElementById('error')!.textContent === '' ? 'ready' : 'error')
    } catch {
      show('status', 'lost')
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS))
    }
  }
}

/** The stock agent attaches to the run that it names, so the page has to keep its id. */
async function attach(): Promise<void> {
  const runId = localStorage.getItem(threadId)
  if (connecting !== undefined) await connecting.connectAgent({}, subscriber)
  else if (runId !== null) await agent.runAgent({ runId }, subscriber)
}

function send(): Promise<void> {
  const { value: content } = document.getElementById('input') as HTMLInputElement
  const runId = crypto.randomUUID()
  localStorage.setItem(threadId, runId)
  agent.addMessage({ id: crypto.randomUUID(), role: 'user', content })
  return follow(() => agent.runAgent({ runId }, subscriber))
}

function approve(): Promise<void> {
  const resume = agent.pendingInterrupts.map(
    ({ id }) => ({ interruptId: id, status: 'resolved', payload: true }) as const,
  )
  return follow(() => agent.runAgent({ resume }, subscriber))
}

async function stop(): Promise<void> {
  if (connecting !== undefined) await connecting.stop()
  else await fetch(`${config.url}/threads/${threadId}/stop`, { method: 'POST' })
}

for (const [id, work] of Object.entries({ send, approve, stop }))
  document.getElementById(id)!.addEventListener('click', () => void work())
void follow(attach)
