/** A remote AgentOS agent: the connection to it is cut in the middle of the answer, and nothing is lost. */
import { equal } from 'node:assert/strict'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer, openMemoryStore } from 'holdfast'
import { remoteAgentOs } from 'holdfast/adapters'

const words = ['Kelp ', 'grows ', 'half ', 'a metre ', 'a day.']

/** Stands in for an AgentOS, as agno's server is one: set AGENTOS_URL and AGENTOS_AGENT to try a real one. */
const standIn = createHttpServer((incoming, outgoing) => {
  let form = ''
  incoming.on('data', (chunk: Buffer) => (form += chunk.toString()))
  incoming.on('end', () => {
    const fields = new URLSearchParams(form)
    const resumed = incoming.url!.endsWith('/resume')
    const run = resumed ? incoming.url!.split('/').at(-2)! : fields.get('run_id')!
    const events = [
      { event: 'RunStarted' },
      ...words.map((content) => ({ event: 'RunContent', content })),
      { event: 'RunCompleted', content: words.join('') },
    ].map((event, index) => ({ ...event, run_id: run, event_index: index }))
    const from = Number(fields.get('last_event_index') ?? -1) + 1
    outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of events.slice(from, resumed ? undefined : 4))
      outgoing.write(`event: ${event.event}\ndata: ${JSON.stringify(event)}\n\n`)
    // The first stream breaks off after the fourth event.
    outgoing.end()
  })
})
await new Promise<void>((resolve) => standIn.listen(0, '127.0.0.1', resolve))
const { AGENTOS_URL: real, AGENTOS_AGENT: agent = 'biologist' } = process.env
const url = real ?? `http://127.0.0.1:${(standIn.address() as AddressInfo).port}`

const server = await createServer({
  components: [remoteAgentOs({ id: 'biologist', url, component: agent })],
  store: openMemoryStore(),
})
try {
  const response = await fetch(`${server.url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ component: 'biologist', input: 'How fast does kelp grow?' }),
  })
  const { id } = (await response.json()) as { id: string }
  const lines = (await (await fetch(`${server.url}/runs/${id}/events?format=ndjson`)).text()).split('\n')
  const log = lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Logged]))
  equal(log.at(-1)?.type, 'run.completed')
  equal(log.flatMap(({ type, data }) => (type === 'text.delta' ? [data.text] : [])).join(''), log.at(-1)!.data.output)
} finally {
  await server.stop()
  standIn.close()
}
process.stdout.write('remote-agentos: the stream was cut, and the answer is whole\n')

interface Logged {
  readonly type: string
  readonly data: { readonly text?: string; readonly output?: unknown }
}
