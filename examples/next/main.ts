/**
 * Holdfast inside Next.js, at /api/agents. `next start` is killed in the middle of a run and started again; the loop goes on.
 *
 * Run it: node --conditions=holdfast-source examples/next/main.ts [PORT]
 * First, in a copy of this folder: npm install holdfast next react react-dom, and npx next build.
 * Expect: events numbered without a gap across the kill, and a count that no number is missing from.
 */
import { spawn } from 'node:child_process'
import { createClient } from 'holdfast/client'
import { followAcrossKill } from '../kill-and-resume/across-kill.ts'

const [, , port = '7788', folder = import.meta.dirname, next = 'node_modules/next/dist/bin/next'] = process.argv
const client = createClient({ url: `http://127.0.0.1:${port}/api/agents` })
await followAcrossKill(client, (database) =>
  spawn(process.execPath, [next, 'start', '--port', port], {
    cwd: folder,
    env: { ...process.env, DATABASE: database },
    stdio: ['ignore', 'ignore', 'inherit'],
  }),
)
