/** Clients that start short runs in sequence. */
import { Agent, request } from 'node:http'

export interface ShortRuns {
  readonly started: number
  /** Starts rejected because the backlog was full. */
  readonly refused: number
}

const REST_MS = 50

/** Runs `clients` concurrently until `isOver`. */
export async function startShortRuns(url: string, clients: number, isOver: () => boolean): Promise<ShortRuns> {
  const agent = new Agent({ keepAlive: true, maxSockets: clients })
  let [started, refused] = [0, 0]
  const client = async (): Promise<void> => {
    while (!isOver()) {
      const status = await post(agent, `${url}/runs`, { component: 'lab', input: 'say short' })
      if (status === 202) started++
      else if (status === 503) {
        refused++
        await new Promise((resolve) => setTimeout(resolve, REST_MS))
      } else throw new Error(`a start got status ${status}`)
    }
  }
  await Promise.all(Array.from({ length: clients }, client))
  agent.destroy()
  return { started, refused }
}

function post(agent: Agent, url: string, body: unknown): Promise<number> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent, method: 'POST', headers: { 'content-type': 'application/json' } }, (response) =>
      response.resume().on('end', () => resolve(response.statusCode!)),
    )
    sent.on('error', reject)
    sent.end(JSON.stringify(body))
  })
}
