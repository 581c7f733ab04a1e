/** The server that main.ts kills: one agent, and a SQLite file that outlives the process. */
import { createServer, openSqliteStore } from 'holdfast'
import { counter } from '../hello/agents.ts'

const [, , path = 'runs.db', port = '7788'] = process.argv
await createServer({ components: [counter], store: await openSqliteStore({ path }), port: Number(port) })
