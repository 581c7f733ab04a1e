/** A Mastra agent behind its adapter for Express. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { Agent } from '@mastra/core/agent'
import { Mastra } from '@mastra/core/mastra'
import { MastraServer } from '@mastra/express'
import express from 'express'

const { PORT: port, MODEL_URL: baseURL } = process.env
const model = createOpenAICompatible({ name: 'scripted', baseURL })('scripted')
const writer = new Agent({ id: 'writer', name: 'writer', instructions: 'Write.', model, maxRetries: 0 })
const mastra = new Mastra({ agents: { writer }, telemetry: { enabled: false } })
const app = express()
app.get('/health', (_request, response) => response.end())
app.use(express.json())
await new MastraServer({ app, mastra }).init()
app.listen(Number(port), '127.0.0.1')
