/** A remote AgentOS agent: its server is shut down in the middle of the answer and started again, and nothing is lost. */
import { equal } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { agent, createServer, openMemoryStore, openSqliteStore, type Server } from 'holdfast'
import { remoteAgentOs } from 'holdfast/adapters'

const words = ['Kelp ', 'grows ', 'half ', 'a metre ', 'a day.']

/** Any AgentOS will do, such as agno's: set AGENTOS_URL and AGENTOS_AGENT to try one. Holdfast's own server is one too. */
const biologist = agent({
  id: 'biologist',
  recovery: 'resume',
  async *run(_question, { sleep }) {
    for (const word of words) {
      yield word
      await sleep(100)
    }
    return words.join('')
  },
})
const folder = mkdtempSync(join(tmpdir(), 'holdfast-'))
const startRemote = async (port: number): Promise<Server> =>
  createServer({
    components: [biologist],
    store: await openSqliteStore({ path: join(folder, 'remote.db') }),
    port,
    limits: { drainTimeoutMs: 0 },
  })

const { AGENTOS_URL: real, AGENTOS_AGENT: component = 'biologist' } = process.env
let remote = real === undefined ? await startRemote(0) : undefined
const url = real ?? remote!.url
const server = await createServer({
  components: [remoteAgentOs({ id: 'biologist', url, component })],
  store: openMemoryStore(),
})
try {
  const response = await fetch(`${server.url}/runs`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ component: 'biologist', input: 'How fast does kelp grow?' }),
  })
  const { id } = (await response.json()) as { id: string }
  const following = fetch(`${server.url}/runs/${id}/events?format=ndjson`)
  if (remote !== undefined) {
    const said = async (): Promise<string> => (await fetch(`${server.url}/runs/${id}/events?format=json`)).text()
    while (!/"text\.delta"|"run\.failed"/.test(await said())) await new Promise((resolve) => setTimeout(resolve, 20))
    await remote.stop()
    remote = await startRemote(Number(new URL(url).port))
  }
  const lines = (await (await following).text()).split('\n')
  const log = lines.flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Logged]))
  equal(log.at(-1)?.type, 'run.completed')
  equal(log.flatMap(({ type, data }) => (type === 'text.delta' ? [data.text] : [])).join(''), log.at(-1)!.data.output)
} finally {
  await server.stop()
  await remote?.stop()
  rmSync(folder, { recursive: true })
}
process.stdout.write('remote-agentos: its server was restarted in between, and the answer is whole\n')

interface Logged {
  readonly type: string
  readonly data: { readonly text?: string; readonly output?: unknown }
}
