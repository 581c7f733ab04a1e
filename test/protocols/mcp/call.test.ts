/** Tool calls with the official clients, against a real server. */
import { describe, expect, test } from 'vitest'
import { localPrincipal } from '../../../src/core/model/principal.ts'
import { startFaultProxy } from '../../client/fault-proxy.ts'
import { startServer } from '../../support/process.ts'
import { temporaryDatabase } from '../../support/temporary.ts'
import { until } from '../../support/until.ts'
import { newestLog, newestText, serveChats } from '../ai-sdk/serve.ts'
import { adder, connect, connectModern, textOf } from './serve.ts'

const lab = (input: string): { name: string; arguments: { input: string } } => ({ name: 'lab', arguments: { input } })

describe('MCP: every component is a tool', () => {
  test('MCP: a tool has the name, description and schemas of its component', async () => {
    const server = await serveChats({ components: [adder] })
    for (const client of [await connect(server.url), await connectModern(server.url)]) {
      const { tools } = await client.listTools()
      expect(tools.map(({ name }) => name)).toEqual(
        server.service
          .components()
          .map(({ id }) => id)
          .toSorted(),
      )
      expect(tools.find(({ name }) => name === 'adder')).toMatchObject({
        description: 'Adds two numbers',
        inputSchema: { type: 'object', required: ['a', 'b'] },
        outputSchema: { type: 'object', required: ['sum'] },
      })
      expect(tools.find(({ name }) => name === 'echo')!.inputSchema).toMatchObject({ required: ['input'] })
    }
  })

  test('MCP: a call is a run with the arguments as its input', async () => {
    const server = await serveChats({ components: [adder] })
    for (const client of [await connect(server.url), await connectModern(server.url)]) {
      const result = await client.callTool({ name: 'adder', arguments: { a: 2, b: 3 } })
      expect(result).toMatchObject({ structuredContent: { sum: 5 }, content: [{ type: 'text', text: '{"sum":5}' }] })
      const { runs } = await server.service.list(localPrincipal, { limit: 1 })
      expect(runs[0]!.run).toMatchObject({ component: 'adder', protocol: 'mcp', status: 'completed' })
    }
  })

  test('MCP: arguments that do not fit are named in the result, and start nothing', async () => {
    const server = await serveChats({ components: [adder] })
    for (const client of [await connect(server.url), await connectModern(server.url)]) {
      const refused = await client.callTool({ name: 'adder', arguments: { a: 'x' } })
      expect(refused).toMatchObject({ isError: true })
      expect(textOf(refused)).toMatch(/\ba\b/)
      expect(await client.callTool({ name: 'echo', arguments: {} })).toMatchObject({ isError: true })
      await expect(client.callTool({ name: 'nobody', arguments: {} })).rejects.toThrow('component "nobody" not found')
    }
    expect((await server.service.list(localPrincipal)).runs).toEqual([])
  })
})

describe('[RUN-3] MCP: a call ends as the log says', () => {
  test.each([
    ['text 3', undefined, undefined],
    ['text 2; throw boom', true, 'boom'],
    ['text 2; circular', true, 'an object that contains it'],
    ['text 2; reject not today', true, 'not today'],
  ])('after %s', async (script, isError, text) => {
    const server = await serveChats()
    for (const client of [await connect(server.url), await connectModern(server.url)]) {
      const result = await client.callTool(lab(script))
      expect(result.isError).toBe(isError)
      expect(textOf(result)).toContain(text ?? (await newestText(server)))
    }
  })

  test('MCP: a call returns artifacts as content', async () => {
    const server = await serveChats()
    const client = await connect(server.url)
    const result = await client.callTool(lab('text 1; artifact report 2'))
    expect((result.content as { type: string }[]).map(({ type }) => type)).toContain('resource')
  })
})

test('MCP: progress says what happens while it does, with numbers that grow', async () => {
  const server = await serveChats()
  const seen: { progress: number; message?: string | undefined }[] = []
  const onprogress = (progress: { progress: number; message?: string | undefined }): void => void seen.push(progress)
  const [legacy, modern] = [await connect(server.url), await connectModern(server.url)]
  const script = lab('text 3; tool look; text 2')
  for (const call of [
    () => legacy.callTool(script, undefined, { onprogress }),
    () => modern.callTool(script, { onprogress }),
  ]) {
    seen.length = 0
    const text = textOf(await call())
    expect(text).toBe(await newestText(server))
    const messages = seen.map(({ message = '' }) => message)
    expect(messages).toContain('calls look')
    expect(messages.filter((message) => !/^(started|calls look)$/.test(message)).join('')).toBe(text)
    const numbers = seen.map(({ progress }) => progress)
    expect(numbers).toEqual([...new Set(numbers)].toSorted((one, other) => one - other))
  }
})

describe('MCP: a call whose connection is cut', () => {
  test('[LOG-1] MCP: a call that was cut continues after the last event, and is one run', async () => {
    const server = await serveChats()
    for (const bytes of [300, 1500, 4000]) {
      let posts = 0
      const resumed: unknown[] = []
      const proxy = await startFaultProxy(() => server.url, {
        draw: ({ method, headers }) => {
          if (headers['last-event-id'] !== undefined) resumed.push(headers['last-event-id'])
          // After `initialize` and its notification.
          return method === 'POST' && posts++ === 2 ? { after: { bytes, by: 'cut' } } : {}
        },
      })
      const client = await connect(proxy.url)
      const messages: string[] = []
      const result = await client.callTool(lab('text 40'), undefined, {
        onprogress: ({ message = '' }) => void messages.push(message),
      })
      expect(textOf(result)).toBe(await newestText(server))
      expect(messages.filter((message) => message !== 'started').join('')).toBe(await newestText(server))
      expect(resumed).toHaveLength(1)
    }
    expect((await server.service.list(localPrincipal)).runs).toHaveLength(3)
  })

  test('[RUN-5] MCP: a call whose server is killed and restarted has one result', async () => {
    const store = temporaryDatabase()
    const first = await startServer({ store })
    const { port } = new URL(first.url)
    const client = await connect(first.url)
    const messages: string[] = []
    const calling = client.callTool(
      { name: 'lab-resume', arguments: { input: 'text 60 every 30; text 20' } },
      undefined,
      {
        onprogress: ({ message = '' }) => void messages.push(message),
        timeout: 120_000,
      },
    )
    await until('the client has text', () => messages.join('').includes('[5]'))
    await first.kill()
    await startServer({ store, args: ['--port', port] })
    const words = textOf(await calling).match(/\[\d+\]/g)!
    expect(words).toHaveLength(80)
    expect(new Set(words.slice(0, 60)).size).toBe(60)
  })
})

describe('MCP: a call that is cancelled', () => {
  test('MCP: a call that its client cancels stops the run', async () => {
    const server = await serveChats()
    const client = await connect(server.url)
    const cancel = new AbortController()
    const calling = client.callTool(lab('text 2; hang'), undefined, {
      signal: cancel.signal,
      onprogress: ({ message }) => message?.includes('[1]') === true && cancel.abort('enough'),
    })
    await expect(calling).rejects.toThrow('enough')
    await until('the run is cancelled', async () => {
      const { runs } = await server.service.list(localPrincipal)
      return runs[0]!.run.status === 'cancelled'
    })
  })

  test('[SEC-2] MCP: a long reason of a cancelled call is cut off', async () => {
    const server = await serveChats()
    const client = await connect(server.url)
    const cancel = new AbortController()
    const calling = client.callTool(lab('text 2; hang'), undefined, {
      signal: cancel.signal,
      onprogress: ({ message }) => message?.includes('[1]') === true && cancel.abort('enough'.repeat(100_000)),
    })
    await expect(calling).rejects.toThrow('enough')
    const { reason } = await until('the run is cancelled', async () => {
      const { runs } = await server.service.list(localPrincipal, { status: ['cancelled'] })
      return runs[0]?.run
    })
    expect(reason).toHaveLength(1000)
  })

  test('MCP: a call whose run somebody else stops ends as an error', async () => {
    const server = await serveChats()
    const client = await connect(server.url)
    const calling = client.callTool(lab('text 2; hang'))
    await until(
      'it runs',
      async () => (await server.service.list(localPrincipal, { status: ['running'] })).runs.length > 0,
    )
    const { runs } = await server.service.list(localPrincipal)
    await server.service.stop(localPrincipal, runs[0]!.run.id, 'closing time')
    const result = await calling
    expect(result).toMatchObject({ isError: true })
    expect(textOf(result)).toContain('closing time')
  })
})

describe('MCP: a call whose run asks', () => {
  const script = 'say before; ask Which town?; say after'

  test('MCP: a question is answered by the client’s user on the stream of the call', async () => {
    const server = await serveChats()
    const asked: string[] = []
    const client = await connect(server.url, {
      elicit: ({ params }) => {
        asked.push(params.message)
        return { action: 'accept', content: { answer: 'Rome' } }
      },
    })
    const result = await client.callTool(lab(script))
    expect(asked).toEqual(['Which town?'])
    expect(textOf(result)).toBe(await newestText(server))
    expect((await newestLog(server)).find(({ type }) => type === 'run.resumed')).toMatchObject({
      data: { answers: { question: 'Rome' } },
    })
  })

  test('MCP: a question is answered by a client of 2026-07-28 that sends its call again', async () => {
    const server = await serveChats()
    const client = await connectModern(server.url, {
      elicit: () => ({ action: 'accept', content: { answer: 'Rome' } }),
    })
    const result = await client.callTool(lab(script))
    expect(textOf(result)).toBe(await newestText(server))
    expect((await server.service.list(localPrincipal)).runs).toHaveLength(1)
  })

  test('MCP: a question is an error for a client that cannot ask anybody, and the run waits', async () => {
    const server = await serveChats()
    for (const client of [await connect(server.url), await connectModern(server.url)]) {
      const result = await client.callTool(lab(script))
      expect(result).toMatchObject({ isError: true })
      expect(textOf(result)).toContain('Which town?')
      const { runs } = await server.service.list(localPrincipal, { limit: 1 })
      expect(runs[0]!.run.status).toBe('paused')
    }
  })

  test('MCP: declining an approval answers it', async () => {
    const server = await serveChats()
    const client = await connect(server.url, { elicit: () => ({ action: 'decline' }) })
    const result = await client.callTool({ name: 'clerk', arguments: { input: 'send 25 to Ada' } })
    expect(textOf(result)).toContain('I have sent nothing.')
  })

  test('MCP: declining a free-text question stops the run', async () => {
    const server = await serveChats()
    const client = await connect(server.url, { elicit: () => ({ action: 'decline' }) })
    expect(await client.callTool(lab(script))).toMatchObject({ isError: true })
    const { runs } = await server.service.list(localPrincipal)
    expect(runs[0]!.run).toMatchObject({ status: 'cancelled', reason: 'the user declined to answer' })
  })
})
