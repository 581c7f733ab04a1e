/** Follows one run in two parts and prints the result. Its argument is the server's address. */
import process from 'node:process'
import { createClient, type LoggedEvent, RunError } from '../../src/client/index.ts'

const client = createClient({ url: process.argv[2]! })
const run = await client.runs.start({ component: 'lab', input: 'say "dünen 🌊"; text 20 every 5; throw boom' })
const seen: LoggedEvent[] = []
for await (const event of run.events()) {
  seen.push(event)
  if (event.index === 7) break
}
for await (const event of run.events()) seen.push(event)
const code = await run.result().then(
  () => 'completed',
  (error: unknown) => (error instanceof RunError ? error.code : String(error)),
)
console.log(JSON.stringify({ id: run.id, seen, code }))
