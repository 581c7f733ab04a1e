import { Role, type StreamResponse } from '@a2a-js/sdk'
import { ClientFactory, ClientFactoryOptions, JsonRpcTransportFactory, RestTransportFactory } from '@a2a-js/sdk/client'
import { describe, expect, test } from 'vitest'
import { begin, collected, message, serveA2a } from './serve.ts'

function client(url: string, transport: 'JSONRPC' | 'HTTP+JSON') {
  const transports = [transport === 'JSONRPC' ? new JsonRpcTransportFactory() : new RestTransportFactory()]
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports,
    preferredTransports: [transport],
  })
  return new ClientFactory(options).createFromUrl(`${url}/`)
}

function outputOf(text: string) {
  const part = { content: { $case: 'text' as const, value: text }, metadata: undefined, filename: '', mediaType: '' }
  const { messageId } = message('')
  const ids = { messageId, contextId: '', taskId: '', referenceTaskIds: [], extensions: [], metadata: undefined }
  return {
    tenant: '',
    message: { ...ids, role: Role.ROLE_USER, parts: [part] },
    configuration: undefined,
    metadata: undefined,
  }
}

function textOf(events: readonly StreamResponse[]): string {
  return events
    .flatMap(({ payload }) => {
      if (payload?.$case === 'task') return payload.value.artifacts
      return payload?.$case === 'artifactUpdate' ? [payload.value.artifact!] : []
    })
    .flatMap(({ parts }) => parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')))
    .join('')
}

describe.each(['JSONRPC', 'HTTP+JSON'] as const)('[O-18] A2A: the official 1.0 client over %s', (transport) => {
  test('streams a task', async () => {
    const server = await serveA2a()
    const peer = await client(server.agent(), transport)
    const events = await collected(peer.sendMessageStream(outputOf('text 3')))
    expect(events[0]!.payload?.$case).toBe('task')
    expect(textOf(events)).toMatch(/^\[0\].*\[1\].*\[2\]/)
  })

  test('subscribes to a running task', async () => {
    const server = await serveA2a()
    const peer = await client(server.agent(), transport)
    const { id } = await begin(server.agent(), 'text 100 every 5')
    const events = await collected(peer.resubscribeTask({ id, tenant: '' }))
    const text = textOf(events)
    expect(text.match(/\[\d+\]/g)).toEqual(Array.from({ length: 100 }, (_, index) => `[${index}]`))
  })
})
