/** Three nodes behind one address that die and restart one after the other. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ServerProcess } from '../../support/process.ts'

const NODES = 3

export class Cluster {
  /** Address for clients: each connection goes to the next running node. */
  readonly url: string
  readonly counts = { kills: 0, drains: 0 }
  readonly #store: string
  readonly #nodes: ServerProcess[]
  /** Which nodes take connections. */
  readonly #ready: boolean[]

  private constructor(store: string, nodes: ServerProcess[], port: number) {
    this.#store = store
    this.#nodes = nodes
    this.#ready = nodes.map(() => true)
    this.url = `http://127.0.0.1:${port}`
  }

  static async start(store: string): Promise<Cluster> {
    // Concurrently: the first one creates the tables or streams.
    const nodes = Array.from({ length: NODES }, () => startNode(store))
    await Promise.all(nodes.map((node) => node.listening))
    let turn = 0
    const port = await startBalancer(() => cluster.#urls(turn++))
    const cluster = new Cluster(store, nodes, port)
    return cluster
  }

  get nodes(): readonly ServerProcess[] {
    return this.#nodes
  }

  /** One node dies or is drained, and another replaces it. */
  async replace(place: number, how: 'kill' | 'drain'): Promise<void> {
    this.#ready[place] = false
    const node = this.#nodes[place]!
    if (how === 'kill') await node.kill()
    else await node.terminate()
    this.counts[how === 'kill' ? 'kills' : 'drains']++
    this.#nodes[place] = startNode(this.#store)
    await this.#nodes[place].listening
    this.#ready[place] = true
  }

  /** Addresses of the nodes that live, another one first each time. */
  #urls(turn: number): string[] {
    const alive = this.#nodes.filter((_, place) => this.#ready[place]).map(({ url }) => url)
    return alive.map((_, place) => alive[(place + turn) % alive.length]!)
  }
}

export function startNode(store: string): ServerProcess {
  const program = join(import.meta.dirname, 'node.ts')
  return new ServerProcess({ store: '', wrap: ([node]) => [node!, program, store] })
}

async function startBalancer(targets: () => readonly string[]): Promise<number> {
  const open = new Set<Socket>()
  const server = createServer((incoming) => {
    open.add(incoming)
    incoming.on('error', () => {})
    incoming.on('close', () => open.delete(incoming))
    forward(incoming, targets())
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(async () => {
    const closed = new Promise((resolve) => server.close(resolve))
    for (const socket of open) socket.destroy()
    await closed
  })
  return (server.address() as AddressInfo).port
}

/** To the first target that answers; broken when none does. */
function forward(incoming: Socket, [target, ...others]: readonly string[]): void {
  if (target === undefined) return void incoming.destroy()
  const { hostname, port } = new URL(target)
  const outgoing = connect(Number(port), hostname)
  const onRefused = (): void => forward(incoming, others)
  outgoing.once('error', onRefused)
  outgoing.once('connect', () => {
    outgoing.off('error', onRefused)
    outgoing.on('error', () => {})
    outgoing.on('close', () => incoming.destroy())
    incoming.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing).pipe(incoming)
  })
}
