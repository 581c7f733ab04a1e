/** Mounts Holdfast in the server of the runtime that executes this: Bun or Deno. Prints the result of one run. */
import { agent } from '../../../src/agents/agent.ts'
import { holdfast } from '../../../src/mount/holdfast.ts'

interface Runtimes {
  readonly Bun?: { serve(options: object): { readonly port: number } }
  readonly Deno?: { serve(options: object, handler: unknown): { readonly addr: { readonly port: number } } }
}

const echo = agent({
  id: 'echo',
  async *run(input) {
    yield `you said ${input}`
  },
})

const [, , store = ''] = process.argv
const hf = holdfast({ components: [echo], store, basePath: '/api/agents' })
const { Bun, Deno } = globalThis as Runtimes
const where = { port: 0, hostname: '127.0.0.1' }
const port =
  Bun?.serve({ ...where, fetch: hf.fetch }).port ?? Deno!.serve({ ...where, onListen() {} }, hf.fetch).addr.port
const response = await fetch(`http://127.0.0.1:${port}/api/agents/runs`, {
  method: 'POST',
  headers: { 'content-type': 'application/json', accept: 'text/event-stream' },
  body: JSON.stringify({ component: 'echo', input: 'hi' }),
})
const text = await response.text()
const output = /you said \w+/.exec(text)?.[0]
console.log(
  response.status,
  response.headers.get('location')?.replace(/run_.*/, 'ID'),
  output,
  text.includes('run.completed'),
)
await hf.close()
process.exit()
