/** The process of a route that uses `durable` is killed while it streams. */
import { join } from 'node:path'
import { DefaultChatTransport } from 'ai'
import { expect, test } from 'vitest'
import { TestChat } from '../protocols/ai-sdk/chat.ts'
import { type PackageProgram, startPackageProgram } from '../support/package-program.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'

/** `POST /api/chat` and `GET /api/chat/{id}/stream` of an application whose model never ends. Prints its address. */
const APPLICATION = `import { createServer } from 'node:http'
import { Readable } from 'node:stream'
import { createDurableChats } from 'holdfast/ai-sdk/server'
const streams = createDurableChats({ store: process.argv[2] })
let count = -2
const numbers = () => new ReadableStream({ async pull(controller) {
  await new Promise((resolve) => setTimeout(resolve, 2))
  count++
  if (count === -1) controller.enqueue({ type: 'start' })
  else if (count === 0) controller.enqueue({ type: 'text-start', id: 't' })
  else controller.enqueue({ type: 'text-delta', id: 't', delta: count + ' ' })
} })
createServer(async (request, response) => {
  const [, , , id] = request.url.split('/')
  const body = request.method === 'POST' ? await new Response(Readable.toWeb(request)).json() : undefined
  const answer = body === undefined ? await streams.resume(id) : await streams.durable(numbers(), body)
  response.writeHead(answer.status, Object.fromEntries(answer.headers))
  if (answer.body === null) return response.end()
  Readable.fromWeb(answer.body).on('error', () => response.destroy()).pipe(response)
}).listen(0, '127.0.0.1', function () {
  process.stdout.write('http://127.0.0.1:' + String(this.address().port).padStart(5, '0') + '\\n')
})
`
const ADDRESS_CHARS = 'http://127.0.0.1:00000\n'.length

async function startApplication(store: string): Promise<PackageProgram & { readonly chat: TestChat }> {
  const program = startPackageProgram(APPLICATION, [store])
  await program.untilPrinted(ADDRESS_CHARS)
  const api = `${new URL(program.printed().trim()).href}api/chat`
  return { ...program, chat: new TestChat({ id: 'c1', transport: new DefaultChatTransport({ api }) }) }
}

test('durable: after kill -9 of its process, a page gets all the text, then the error and no clean end', async () => {
  const store = `sqlite:${join(temporaryFolder(), 'chats.db')}`
  const first = await startApplication(store)
  const sending = first.chat.sendMessage({ text: 'count' })
  await until('the page has text', () => first.chat.text.length > 300)
  await first.kill()
  await sending
  expect(first.chat.status).toBe('error')

  const { chat } = await startApplication(store)
  await chat.resumeStream()
  expect([chat.status, chat.error?.message]).toEqual(['error', 'the worker that executed the run died'])
  expect(chat.text.startsWith(first.chat.text)).toBe(true)
  const count = chat.text.split(' ').length - 1
  expect(chat.text).toBe(Array.from({ length: count }, (_, index) => `${index + 1} `).join(''))
})
