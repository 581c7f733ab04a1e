/** Ways to re-attach with AG-UI's own client: why this protocol sends a snapshot, the open message and the rest for a known run. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { agentAt, record, say, textIn } from './agents.ts'

const started = { type: 'RUN_STARTED', threadId: 't1', runId: 'r1' }
const opened = { type: 'TEXT_MESSAGE_START', messageId: 'm1', role: 'assistant' }
const ended = [
  { type: 'TEXT_MESSAGE_END', messageId: 'm1' },
  { type: 'RUN_FINISHED', threadId: 't1', runId: 'r1' },
]
const user = { id: 'u1', role: 'user', content: 'hello' }
const partial = { id: 'm1', role: 'assistant', content: 'hi ' }

function outputOf(delta: string): object {
  return { type: 'TEXT_MESSAGE_CONTENT', messageId: 'm1', delta }
}

function snapshot(...messages: readonly object[]): object {
  return { type: 'MESSAGES_SNAPSHOT', messages }
}

const answers = [
  {
    how: 'a replay from the start, which it appends',
    events: [started, opened, outputOf('hi '), outputOf('there'), ...ended],
    text: 'hi hi there',
    outcome: 'success',
  },
  {
    how: 'the rest alone, which it refuses',
    events: [started, outputOf('there'), ...ended],
    text: 'hi ',
    outcome: expect.stringContaining('No active text message'),
  },
  {
    how: 'a snapshot with the open message, its start and the rest, which is exact',
    events: [started, snapshot(user, partial), opened, outputOf('there'), ...ended],
    text: 'hi there',
    outcome: 'success',
  },
  {
    how: 'a snapshot without the open message and a replay, which is exact after a flicker',
    events: [started, snapshot(user), opened, outputOf('hi '), outputOf('there'), ...ended],
    text: 'hi there',
    outcome: 'success',
  },
]

test.each(answers)(
  'AG-UI: a client that was cut off and sends its run again gets $how',
  async ({ events, text, outcome }) => {
    let requests = 0
    const server = createServer((_request, response) => {
      const isFirst = requests++ === 0
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (const event of isFirst ? [started, opened, outputOf('hi ')] : events)
        response.write(`data: ${JSON.stringify(event)}\n\n`)
      if (isFirst) setImmediate(() => response.destroy())
      else response.end()
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const client = agentAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, 't1')
    const { concluded, subscriber } = record()
    say(client, 'hello')
    await client.runAgent({ runId: 'r1' }, subscriber).catch(() => undefined)
    expect(textIn(client.messages)).toBe('hi ')
    await client.runAgent({ runId: 'r1' }, subscriber).catch(() => undefined)
    expect(textIn(client.messages)).toBe(text)
    expect(concluded.outcomes.at(-1)).toEqual(outcome)
  },
)
