/** The two servers that are compared, in processes that can be killed and started again. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { freePort } from '../../test/support/free-port.ts'
import { Failure, root } from '../command.ts'
import { type PeerStart, peers } from '../judge-peers.ts'

const READY_MS_MAX = 60_000

/** One side of the comparison. */
export interface Side {
  readonly title: string
  /** Address of the chat, for `useChat`. */
  readonly api: (url: string) => string
  /** Address of the messages of a chat, which a page loads. */
  readonly messages: (api: string, chat: string) => string
  /** Address that stops a chat; undefined if there is none. */
  readonly stop?: (api: string, chat: string) => string
  readonly start: () => Promise<PeerStart>
  readonly versions: () => string
}

export interface RunningServer {
  readonly url: string
  /** `kill -9`, and a start on the same data and port. */
  restart(): Promise<void>
  close(): Promise<void>
}

const redisPeer = peers.find(({ name }) => name === 'resumable-stream')!
const ownPeer = peers.find(({ name }) => name === 'holdfast-ai-sdk')!
const agentFile = (path: string): string => path.replace(/holdfast-agent\.mjs$/, 'holdfast-chat-agent.mjs')

export const sides: readonly Side[] = [
  {
    title: redisPeer.title,
    api: (url) => `${url}/api/chat`,
    messages: (api, chat) => `${api}/${chat}`,
    start: () => redisPeer.start(),
    versions: () => redisPeer.versions(),
  },
  {
    title: 'Holdfast (SQLite)',
    api: (url) => `${url}/ai/writer/chat`,
    messages: (api, chat) => `${api}/${chat}/messages`,
    stop: (api, chat) => `${api}/${chat}/stop`,
    async start() {
      const started = await ownPeer.start()
      return { ...started, command: started.command.map(agentFile) }
    },
    versions: () => ownPeer.versions(),
  },
]

export async function startServer(side: Side, model: string): Promise<RunningServer> {
  const { command, env = {}, cwd = root, close } = await side.start()
  const folder = mkdtempSync(join(tmpdir(), 'compare-'))
  const port = String(await freePort())
  const url = `http://127.0.0.1:${port}`
  const fill = (value: string): string =>
    value.replaceAll('{port}', port).replaceAll('{model}', model).replaceAll('{folder}', folder)
  const filled = Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)]))
  const start = async () => {
    const [, ...args] = command.map(fill)
    // Hides the server's log of the faults, which users do not see either.
    const child = spawn(process.execPath, args, { cwd, env: { ...process.env, ...filled }, stdio: 'ignore' })
    await untilReady(url)
    return child
  }
  let child = await start()
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null) return
    const ended = once(child, 'close')
    child.kill('SIGKILL')
    await ended
  }
  return {
    url,
    async restart() {
      await kill()
      child = await start()
    },
    async close() {
      await kill()
      close?.()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function untilReady(url: string): Promise<void> {
  for (let waited = 0; waited < READY_MS_MAX; waited += 100) {
    const isReady = await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    )
    if (isReady) return
    await sleep(100)
  }
  throw new Failure(`${url} is not ready`)
}
