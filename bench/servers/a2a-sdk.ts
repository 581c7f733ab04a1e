/** The same agent on the official SDK's server and in-memory store. */
import { createServer, type RequestListener } from 'node:http'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { TaskState } from '@a2a-js/sdk'
import { AgentEvent, type AgentExecutor, DefaultRequestHandler, InMemoryTaskStore } from '@a2a-js/sdk/server'
import { jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import { ready } from '../ipc-child.ts'

const status = (state: TaskState) => ({ state, message: undefined, timestamp: new Date().toISOString() })

const executor: AgentExecutor = {
  async execute({ userMessage, taskId, contextId }, bus) {
    const pieces = Number(userMessage.parts[0]?.content?.value)
    const ids = { taskId, contextId, metadata: undefined }
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: status(TaskState.TASK_STATE_SUBMITTED),
        artifacts: [],
        history: [],
        metadata: undefined,
      }),
    )
    for (let piece = 0; piece < pieces; piece++) {
      const content = { $case: 'text' as const, value: `piece ${piece} of an answer; ` }
      const artifact = {
        artifactId: 'answer',
        name: '',
        description: '',
        parts: [{ content, metadata: undefined, filename: '', mediaType: '' }],
        metadata: undefined,
        extensions: [],
      }
      bus.publish(AgentEvent.artifactUpdate({ ...ids, artifact, append: piece > 0, lastChunk: piece === pieces - 1 }))
      // Yield to the event loop, as a real agent would.
      await new Promise((resolve) => setImmediate(resolve))
    }
    bus.publish(AgentEvent.statusUpdate({ ...ids, status: status(TaskState.TASK_STATE_COMPLETED) }))
    bus.finished()
  },
  cancelTask: () => Promise.resolve(),
}
const express = createRequire(import.meta.url)('express') as () => RequestListener & {
  use(path: string, handler: unknown): void
}
const app = express()
const http = createServer(app)
http.listen(0, '127.0.0.1', () => {
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
  const card = {
    name: 'speaker',
    description: 'says pieces of text',
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
  const requestHandler = new DefaultRequestHandler(card as never, new InMemoryTaskStore(), executor)
  app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  process.on('disconnect', () => process.exit())
  ready(url)
})
