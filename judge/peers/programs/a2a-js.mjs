/** The same agent on the official SDK's server and in-memory store. */
import { TaskState } from '@a2a-js/sdk'
import { AgentEvent, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'
import { wordsOf } from './words.mjs'

const { PORT: port, MODEL_URL: model } = process.env
const url = `http://127.0.0.1:${port}`
const status = (state) => ({ state, message: undefined, timestamp: new Date().toISOString() })

const executor = {
  async execute({ userMessage, taskId, contextId }, bus) {
    const ids = { taskId, contextId, metadata: undefined }
    const submitted = status(TaskState.TASK_STATE_SUBMITTED)
    bus.publish(
      AgentEvent.task({ id: taskId, contextId, status: submitted, artifacts: [], history: [], metadata: undefined }),
    )
    let count = 0
    for await (const value of wordsOf(model, userMessage.parts[0].content.value)) {
      const part = { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' }
      const artifact = {
        artifactId: 'answer',
        name: '',
        description: '',
        parts: [part],
        metadata: undefined,
        extensions: [],
      }
      bus.publish(AgentEvent.artifactUpdate({ ...ids, artifact, append: count++ > 0, lastChunk: false }))
    }
    bus.publish(AgentEvent.statusUpdate({ ...ids, status: status(TaskState.TASK_STATE_COMPLETED) }))
    bus.finished()
  },
  cancelTask: () => Promise.resolve(),
}

const card = {
  name: 'writer',
  description: 'streams words',
  version: '1',
  capabilities: { streaming: true, extensions: [] },
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', tenant: '', protocolVersion: '1.0' }],
  securitySchemes: {},
  securityRequirements: [],
  signatures: [],
}
const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
const app = express()
app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
app.listen(Number(port), '127.0.0.1')
