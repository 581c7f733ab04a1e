/** The same model as a Holdfast agent, on SQLite with synced commits. */
import { join } from 'node:path'
import { modelAgent } from '../../src/agents/model/agent.ts'
import type { Component } from '../../src/core/ports/component.ts'
import { fromCheck } from '../../src/core/schema/json-schema.ts'
import { createServer } from '../../src/server/create-server.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { Gate } from '../agent.ts'
import { promptOf, WordsModels } from '../words-model.ts'
import { takeCommands } from './control.ts'

const [directory] = process.argv.slice(2)
const gate = new Gate()
const models = new WordsModels(gate)
const fast = modelAgent({ id: 'bench', model: models.fast })
const paced = modelAgent({ id: 'bench', model: models.paced })
const component: Component<string> = {
  ...fast,
  input: fromCheck(promptOf, { type: 'string' }),
  run: (prompt, context) => (models.for(prompt) === 'fast' ? fast : paced).run(prompt, context),
}
const store = await openSqliteStore({ path: join(directory!, 'holdfast.db') })
const server = await createServer({ components: [component], store, limits: { drainTimeoutMs: 0 } })
takeCommands(Number(new URL(server.url).port), gate, () => server.close())
