/** A graph of LangGraph.js that asks a person: the run waits, and goes on with the answer where the graph was. */
import { equal } from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'
import { Annotation, END, interrupt, MemorySaver, START, StateGraph } from '@langchain/langgraph'
import { createServer, openMemoryStore } from 'holdfast'
import { langGraphAgent } from 'holdfast/adapters'

const State = Annotation.Root({ topic: Annotation<string>, draft: Annotation<string>, verdict: Annotation<string> })

let drafts = 0
const graph = new StateGraph(State)
  .addNode('write', ({ topic }) => ({ draft: `${topic}, draft ${++drafts}` }))
  .addNode('review', ({ draft }) => ({ verdict: interrupt<string, string>(`Is this good: ${draft}?`) }))
  .addEdge(START, 'write')
  .addEdge('write', 'review')
  .addEdge('review', END)
  .compile({ checkpointer: new MemorySaver() })

const writer = langGraphAgent({
  id: 'writer',
  graph,
  output: (state) => {
    const { draft, verdict } = state as typeof State.State
    return `${draft}: ${verdict}`
  },
})

interface Run {
  readonly id: string
  readonly status: string
  readonly output?: unknown
  readonly waiting?: readonly { readonly prompt: string }[]
}

const server = await createServer({ components: [writer], store: openMemoryStore() })

async function post(path: string, body: object): Promise<Run> {
  const headers = { 'content-type': 'application/json' }
  return (await (await fetch(server.url + path, { method: 'POST', headers, body: JSON.stringify(body) })).json()) as Run
}

async function reached(id: string, status: string): Promise<Run> {
  for (let look = 0; look < 400; look++) {
    const run = (await (await fetch(`${server.url}/runs/${id}`)).json()) as Run
    if (run.status === status) return run
    await sleep(25)
  }
  throw new Error(`run ${id} did not come to ${status}`)
}

try {
  const { id } = await post('/runs', { component: 'writer', input: { topic: 'kelp' } })
  equal((await reached(id, 'paused')).waiting?.[0]?.prompt, 'Is this good: kelp, draft 1?')
  await post(`/runs/${id}/answers`, { answer: 'printed' })
  equal((await reached(id, 'completed')).output, 'kelp, draft 1: printed')
} finally {
  await server.stop()
}
process.stdout.write('langgraph: the graph waited for a person, and nothing was done twice\n')
