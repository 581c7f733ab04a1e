/** A server of Deno with Holdfast in it, which a test kills and starts again. */
import { holdfast } from '../../../src/mount/holdfast.ts'
import { agent } from '../../../src/agents/agent.ts'

interface Runtime {
  readonly Deno: { serve(options: object, handler: unknown): unknown }
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

const [, , path = 'runs.db', port = '7788'] = process.argv
const hf = holdfast({ components: [counter], store: `sqlite:${path}`, basePath: '/api/agents' })
await hf.ready()
const { Deno } = globalThis as unknown as Runtime
Deno.serve({ hostname: '127.0.0.1', port: Number(port), onListen() {} }, hf.fetch)
