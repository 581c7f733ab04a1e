/** Holdfast as it is: its server, its SQLite store with every commit synced, and the agent as a component. */
import { join } from 'node:path'
import { agent } from '../../src/agents/generator.ts'
import { boundYoungGeneration } from '../../src/cli/young-generation.ts'
import { createServer } from '../../src/server/create-server.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { Gate, produce, type Work } from '../agent.ts'
import { takeCommands } from './control.ts'

const [directory] = process.argv.slice(2)
const gate = new Gate()
boundYoungGeneration() // as `holdfast serve` does
const component = agent<Work>({ id: 'bench', run: (work) => produce(work, gate) })
const store = await openSqliteStore({ path: join(directory!, 'holdfast.db') })
const server = await createServer({ components: [component], store, limits: { drainMs: 0 } })
takeCommands(Number(new URL(server.url).port), gate, () => server.stop())
