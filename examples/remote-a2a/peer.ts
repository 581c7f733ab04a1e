/** An agent of another team, behind the official server of the A2A SDK. Its answer is one artifact in two chunks. */
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { type AgentCard, TaskState } from '@a2a-js/sdk'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
} from '@a2a-js/sdk/server'

const status = (state: TaskState) => ({ state, message: undefined, timestamp: new Date().toISOString() })

const executor: AgentExecutor = {
  async execute({ taskId, contextId }, bus) {
    const piece = (text: string, append: boolean) => ({
      taskId,
      contextId,
      artifact: {
        artifactId: 'answer',
        name: '',
        description: '',
        parts: [{ content: { $case: 'text' as const, value: text }, metadata: undefined, filename: '', mediaType: '' }],
        metadata: undefined,
        extensions: [],
      },
      append,
      lastChunk: append,
      metadata: undefined,
    })
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: status(TaskState.TASK_STATE_WORKING),
        artifacts: [],
        history: [],
        metadata: undefined,
      }),
    )
    bus.publish(AgentEvent.artifactUpdate(piece('Kelp is ', false)))
    bus.publish(AgentEvent.artifactUpdate(piece('an alga.', true)))
    const completed = status(TaskState.TASK_STATE_COMPLETED)
    bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: completed, metadata: undefined }))
    bus.finished()
  },
  async cancelTask() {},
}

export const peer: Server = createServer((incoming, outgoing) => {
  let body = ''
  incoming.on('data', (chunk: Buffer) => (body += chunk.toString()))
  incoming.on('end', () => void (incoming.method === 'GET' ? outgoing.end(JSON.stringify(card)) : call(body, outgoing)))
})
await new Promise<void>((resolve) => peer.listen(0, '127.0.0.1', resolve))
export const url = `http://127.0.0.1:${(peer.address() as AddressInfo).port}`

const card: AgentCard = {
  name: 'Biologist',
  description: 'Knows about kelp',
  version: '1',
  provider: undefined,
  supportedInterfaces: [{ url: `${url}/rpc`, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' }],
  capabilities: { streaming: true, extensions: [] },
  securitySchemes: {},
  securityRequirements: [],
  defaultInputModes: ['text/plain'],
  defaultOutputModes: ['text/plain'],
  skills: [],
  signatures: [],
}
const rpc = new JsonRpcTransportHandler(new DefaultRequestHandler(card, new InMemoryTaskStore(), executor))

async function call(body: string, outgoing: ServerResponse): Promise<void> {
  const answer = await rpc.handle(body, new ServerCallContext({ requestedVersion: '1.0' }))
  if (!(Symbol.asyncIterator in answer)) return void outgoing.end(JSON.stringify(answer))
  outgoing.writeHead(200, { 'content-type': 'text/event-stream' })
  for await (const event of answer) outgoing.write(`data: ${JSON.stringify(event)}\n\n`)
  outgoing.end()
}
