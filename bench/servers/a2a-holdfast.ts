/** Holdfast as an A2A agent that emits a requested number of text pieces, on SQLite with synced commits. */
import { join } from 'node:path'
import { agent } from '../../src/agents/agent.ts'
import { createServer } from '../../src/server/create-server.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { ready } from '../ipc-child.ts'

const [directory] = process.argv.slice(2)
const speaker = agent({
  id: 'speaker',
  async *run(pieces) {
    for (let piece = 0; piece < Number(pieces); piece++) yield `piece ${piece} of an answer; `
  },
})
const store = await openSqliteStore({ path: join(directory!, 'holdfast.db') })
const server = await createServer({ components: [speaker], store })
process.on('disconnect', () => process.exit())
ready(`${server.url}/a2a/speaker`)
