/** The other server: an agent behind the AgentOS protocol. Holdfast serves it; agno's AgentOS works as well. */
import { agent, createServer, openSqliteStore, type HoldfastServer } from 'holdfast'

const biologist = agent({
  id: 'biologist',
  recovery: 'resume',
  async *run(_question, { sleep }) {
    const words = ['Kelp ', 'grows ', 'half ', 'a metre ', 'a day.']
    for (const word of words) {
      yield word
      await sleep(100)
    }
    return words.join('')
  },
})

/** Hands its runs over at once when it is stopped, so that the next one continues them. */
export async function startRemote(path: string, port = 0): Promise<HoldfastServer> {
  return createServer({
    components: [biologist],
    store: await openSqliteStore({ path }),
    port,
    limits: { drainTimeoutMs: 0 },
  })
}
