/** The Holdfast server with durable commits, and the agent as a component. */
import { agent } from '../../src/agents/agent.ts'
import { boundYoungGeneration } from '../../src/cli/young-generation.ts'
import { configOptions } from '../../src/server/config-options.ts'
import { createServer } from '../../src/server/create-server.ts'
import { openStore } from '../../src/server/open-store.ts'
import { Gate, produce, type Work } from '../agent.ts'
import { takeCommands } from './control.ts'

const [address, mode] = process.argv.slice(2)
const gate = new Gate()
boundYoungGeneration() // as `holdfast serve` does
const component = agent<Work>({ id: 'bench', run: (work) => produce(work, gate) })
const store = await openStore(configOptions.store.parse(address!))
/** `reads`: it executes no runs, and leaves those that are open as they are. */
const limits = { drainTimeoutMs: 0, ...(mode === 'reads' && { runsConcurrentMax: 0 }) }
const server = await createServer({ components: [component], store, limits })
takeCommands(Number(new URL(server.url).port), gate, () => server.close())
