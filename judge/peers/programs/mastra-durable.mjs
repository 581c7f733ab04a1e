/** A durable Mastra agent, as its documentation says: events in Redis, checkpoints in a file, unfinished runs recovered at startup. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent } from '@mastra/core/agent'
import { createDurableAgent } from '@mastra/core/agent/durable'
import { Mastra } from '@mastra/core/mastra'
import { MastraServer } from '@mastra/express'
import { LibSQLStore } from '@mastra/libsql'
import { RedisServerCache } from '@mastra/redis'
import express from 'express'
import { Redis } from 'ioredis'

const { PORT: port, MODEL_URL: baseURL, REDIS_URL: redis, DATA: data } = process.env
const model = createOpenAICompatible({ name: 'scripted', baseURL })('scripted')
const agent = new Agent({ id: 'writer', name: 'writer', instructions: 'Write.', model, maxRetries: 0 })
const writer = createDurableAgent({ agent, cache: new RedisServerCache({ client: new Redis(redis) }) })
const mastra = new Mastra({
  agents: { writer },
  storage: new LibSQLStore({ id: 'runs', url: `file:${data}` }),
  recovery: { durableAgents: 'auto' },
  telemetry: { enabled: false },
})
const app = express()
app.get('/health', (_request, response) => response.end())
app.use(express.json())
await new MastraServer({ app, mastra }).init()
app.listen(Number(port), '127.0.0.1')
// What Mastra's own deployer does at startup.
await mastra.recoverAllDurableAgents()
