/** A server of the runtime that executes this, Bun or Deno, with Holdfast in it. A test kills it and starts it again. */
import { holdfast } from '../../../src/mount/holdfast.ts'
import { agent } from '../../../src/agents/agent.ts'

interface Runtimes {
  readonly Bun?: { serve(options: object): unknown }
  readonly Deno?: { serve(options: object, handler: unknown): unknown }
}

const counter = agent({
  id: 'counter',
  recovery: 'resume',
  async *run(input, { sleep }) {
    for (let n = 1; n <= 60; n++) {
      yield `${input} ${n} of 60\n`
      await sleep(50)
    }
  },
})

const [, , store = '', port = '7788'] = process.argv
const hf = holdfast({ components: [counter], store, basePath: '/api/agents' })
await hf.ready()
const { Bun, Deno } = globalThis as Runtimes
const where = { hostname: '127.0.0.1', port: Number(port) }
if (Bun === undefined) Deno!.serve({ ...where, onListen() {} }, hf.fetch)
else Bun.serve({ ...where, idleTimeout: 0, fetch: hf.fetch })
