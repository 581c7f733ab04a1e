/** The Holdfast server with durable commits, and the agent as a component. */
import { agent } from '../../src/agents/agent.ts'
import { boundYoungGeneration } from '../../src/cli/serving/young-generation.ts'
import { configOptions } from '../../src/server/config/config-options.ts'
import { createServer } from '../../src/server/create-server.ts'
import { openStore } from '../../src/server/store/open-store.ts'
import { Gate, produce, workIn } from '../agent.ts'
import { takeCommands } from './control.ts'

const [address, mode] = process.argv.slice(2)
const gate = new Gate()
boundYoungGeneration() // as `holdfast serve` does
/** Microseconds that the guard adds to every event, to prove that it detects a slowdown. */
const slowUs = Number(process.env['HOLDFAST_BENCH_SLOW_US'] ?? 0)
const component = agent<unknown>({ id: 'bench', run: (input) => slowed(produce(workIn(input), gate)) })
const store = await openStore(configOptions.store.parse(address!))
/** `reads`: it executes no runs, leaves those that are open as they are, and has room for the view of a very long one. */
const limits = { drainTimeoutMs: 0, ...(mode === 'reads' && { maxConcurrentRuns: 0, maxViewCacheBytes: 2 ** 30 }) }
const server = await createServer({ components: [component], store, limits })
takeCommands(Number(new URL(server.url).port), gate, () => server.close())

function slowed(texts: AsyncGenerator<string, void, void>): AsyncGenerator<string, void, void> {
  return slowUs === 0 ? texts : burning(texts)
}

async function* burning(texts: AsyncIterable<string>): AsyncGenerator<string, void, void> {
  for await (const text of texts) {
    const until = performance.now() + slowUs / 1000
    while (performance.now() < until);
    yield text
  }
}
