/** LangChain's `ChatOpenAI`, as it is installed, against this server. */
import { ChatOpenAI } from '@langchain/openai'
import { expect, test } from 'vitest'
import { serveOpenAi } from './serve.ts'

test.each([false, true])(
  'LangChain.js gets the answer, complete and streamed, and is notified of a failure (Responses API: %s)',
  async (useResponsesApi) => {
    const { base } = await serveOpenAi()
    const model = new ChatOpenAI({
      model: 'lab',
      apiKey: 'none',
      useResponsesApi,
      maxRetries: 0,
      configuration: { baseURL: base },
    })
    expect((await model.invoke('text 3')).text).toMatch(/^\[0\].*\[2\]/)
    let text = ''
    for await (const chunk of await model.stream('text 3; tool search; text 1')) text += chunk.text
    expect(text).toMatch(/^\[0\].*\[3\]/)
    await expect(model.invoke('text 1; throw boom')).rejects.toThrow('boom')
    const streamed = async (): Promise<void> => {
      for await (const chunk of await model.stream('text 1; throw boom')) expect(chunk.text).toBeTypeOf('string')
    }
    await expect(streamed()).rejects.toThrow('boom')
  },
)
