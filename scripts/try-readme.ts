/** Serves `agents.ts` of this folder with the given program, and exits with 0 if a run completes over HTTP. */
import { spawn } from 'node:child_process'

const [, , program = 'holdfast'] = process.argv
const server = spawn(process.execPath, [program, 'serve', 'agents.ts', '--port', '0'], {
  stdio: ['ignore', 'pipe', 'inherit'],
})
try {
  const url = await new Promise<string>((resolve, reject) => {
    server.once('exit', () => reject(new Error('the server did not start')))
    server.stdout.on('data', (text: Buffer) => {
      const [, found] = /listens at (\S+)/.exec(text.toString()) ?? []
      if (found !== undefined) resolve(found)
    })
  })
  const headers = { 'content-type': 'application/json', accept: 'text/event-stream' }
  const body = JSON.stringify({ component: 'counter', input: 'Sheep' })
  const text = await (await fetch(`${url}/runs`, { method: 'POST', headers, body })).text()
  if (!text.includes('Sheep 50 of ') || !text.includes('event: run.completed')) throw new Error(text.slice(-500))
  console.log(`${text.match(/^id: /gm)!.length} events`)
} finally {
  server.kill('SIGKILL')
}
