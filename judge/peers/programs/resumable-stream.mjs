/** A chat route as the AI SDK's guide to resuming streams has it: messages and the active stream's id are in Redis, as in a database. */
import { createServer } from 'node:http'
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { convertToModelMessages, generateId, stepCountIs, streamText, UI_MESSAGE_STREAM_HEADERS } from 'ai'
import { createClient } from 'redis'
import { createResumableStreamContext } from 'resumable-stream'
import { lookup } from './lookup-tool.mjs'
import { answer, jsonOf } from './words.mjs'

process.on('unhandledRejection', console.error) // as Next.js does
const { PORT: port, MODEL_URL: baseURL, REDIS_URL: url } = process.env
const redis = await createClient({ url }).connect()
const context = createResumableStreamContext({ waitUntil: null })
const model = createOpenAICompatible({ name: 'scripted', baseURL })('scripted')

async function chatOf(id) {
  return JSON.parse((await redis.get(`chat:${id}`)) ?? '{"messages":[],"stream":null}')
}

const save = (id, chat) => redis.set(`chat:${id}`, JSON.stringify(chat))

async function send(response, { headers, body, status }) {
  response.writeHead(status, Object.fromEntries(headers))
  for await (const chunk of body) response.write(chunk)
  response.end()
}

async function start(request, response) {
  const { id, text, messages: sent } = await jsonOf(request)
  const message = sent?.at(-1) ?? { id: generateId(), role: 'user', parts: [{ type: 'text', text }] }
  const messages = [...(await chatOf(id)).messages, message]
  await save(id, { messages, stream: null })
  const prompt = await convertToModelMessages(messages)
  const result = streamText({ model, messages: prompt, tools: { lookup }, stopWhen: stepCountIs(5), maxRetries: 0 })
  const reply = result.toUIMessageStreamResponse({
    originalMessages: messages,
    generateMessageId: generateId,
    onEnd: ({ messages: whole }) => save(id, { messages: whole, stream: null }),
    consumeSseStream: async ({ stream: sse }) => {
      const stream = generateId()
      await context.createNewResumableStream(stream, () => sse)
      await save(id, { messages, stream })
    },
  })
  await send(response, reply)
}

async function resume(id, response) {
  const { stream } = await chatOf(id)
  const existing = stream === null ? null : await context.resumeExistingStream(stream)
  if (!existing) return response.writeHead(204).end()
  await send(
    response,
    new Response(existing.pipeThrough(new TextEncoderStream()), { headers: UI_MESSAGE_STREAM_HEADERS }),
  )
}

const server = createServer((request, response) => {
  const [, id, isStream] = /^\/api\/chat\/([^/]+)(\/stream)?$/.exec(request.url) ?? []
  const handle = async () => {
    if (request.url === '/health') return answer(response, 200, {})
    if (request.method === 'POST') return start(request, response)
    if (isStream) return resume(id, response)
    return answer(response, 200, await chatOf(id))
  }
  handle().catch((cause) => {
    console.error(cause)
    response.destroy()
  })
})
server.listen(Number(port), '127.0.0.1')
