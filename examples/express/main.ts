/**
 * Holdfast inside Express, at /api/agents. The application is killed in the middle of a run and started again; the loop goes on.
 *
 * Run it: node --conditions=holdfast-source examples/express/main.ts [PORT]
 * Expect: events numbered without a gap across the kill, and a count that no number is missing from.
 */
import { createClient } from 'holdfast/client'
import { followAcrossKill, programAt } from '../kill-and-resume/across-kill.ts'

const [, , port = '7788'] = process.argv
const client = createClient({ url: `http://127.0.0.1:${port}/api/agents` })
await followAcrossKill(client, programAt(new URL('./server.ts', import.meta.url), port))
