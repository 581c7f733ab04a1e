/**
 * A graph of LangGraph.js that asks a person: the run pauses, and continues inside the graph with the answer.
 *
 * Run it: node --conditions=holdfast-source examples/langgraph/main.ts
 * Expect: the question of the graph, then its output. The draft is written once.
 */
import { Annotation, END, interrupt, MemorySaver, START, StateGraph } from '@langchain/langgraph'
import { createServer, createMemoryStore } from 'holdfast'
import { langGraphAgent } from 'holdfast/adapters'
import { createClient } from 'holdfast/client'

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
  mapOutput: (state) => {
    const { draft, verdict } = state as typeof State.State
    return `${draft}: ${verdict}`
  },
})

const server = await createServer({ components: [writer], store: createMemoryStore() })
const client = createClient({ url: server.url })

const run = await client.runs.start({ component: 'writer', input: { topic: 'kelp' } })
for await (const event of run.events()) {
  if (event.type !== 'run.paused') continue
  for (const { prompt } of event.data.questions) console.log(prompt)
  await run.answer({ answer: 'printed' })
}
console.log(await run.result())
await server.close()
