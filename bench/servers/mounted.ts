/** Holdfast mounted in another server, with the same agent and store: `node` in node:http, `hono` by web requests. */
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import { Hono } from 'hono'
import { agent } from '../../src/agents/agent.ts'
import { boundYoungGeneration } from '../../src/cli/serving/young-generation.ts'
import { holdfast } from '../../src/mount/holdfast.ts'
import { Gate, produce, type Work } from '../agent.ts'
import { takeCommands } from './control.ts'

const [how, store] = process.argv.slice(2)
const gate = new Gate()
boundYoungGeneration() // as the server that it is compared with does
const component = agent<Work>({ id: 'bench', run: (work) => produce(work, gate) })
const hf = holdfast({ components: [component], store: store!, limits: { drainTimeoutMs: 0 } })
await hf.ready()
const server =
  how === 'hono'
    ? (serve({ fetch: new Hono().mount('/', hf.fetch).fetch, port: 0, hostname: '127.0.0.1' }) as Server)
    : createServer((request, response) => hf.node(request, response)).listen(0, '127.0.0.1')
if (!server.listening) await once(server, 'listening')
takeCommands((server.address() as AddressInfo).port, gate, () => hf.close())
