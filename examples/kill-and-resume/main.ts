/**
 * Kills the server in the middle of a run and starts it again. The same loop over events goes on, and checks every index.
 *
 * Run it: node --conditions=holdfast-source examples/kill-and-resume/main.ts [PORT]
 * Expect: events numbered without a gap across the kill, and a count that no number is missing from.
 */
import { createClient } from 'holdfast/client'
import { followAcrossKill, programAt } from './across-kill.ts'

const [, , port = '7788'] = process.argv
const client = createClient({ url: `http://127.0.0.1:${port}` })
await followAcrossKill(client, programAt(new URL('./server.ts', import.meta.url), port))
