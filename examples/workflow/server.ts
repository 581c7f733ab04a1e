/** The server that main.ts kills: one workflow, and a SQLite file that outlives the process. */
import { createServer, openSqliteStore } from 'holdfast'
import { publish } from './publish.ts'

const [, , path = 'runs.db', port = '7788'] = process.argv
await createServer({ components: [publish], store: await openSqliteStore({ path }), port: Number(port) })
