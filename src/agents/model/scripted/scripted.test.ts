/** The scripted model with the AI SDK's own functions. */
import { generateText, isStepCount, streamText, tool } from 'ai'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { scriptedModel } from './scripted.ts'

const dice = tool({ inputSchema: z.object({ sides: z.number() }), execute: ({ sides }) => sides - 1 })

const rolling = scriptedModel({
  script: ({ turn, results, tools }) =>
    turn === 1
      ? [`I have ${tools.join()}. `, { type: 'tool', name: 'dice', input: { sides: 6 } }]
      : `It shows ${String(results[0]!.output)}.`,
})

test('scripted model: streams word by word, calls a tool and continues with its result', async () => {
  const result = streamText({ model: rolling, tools: { dice }, stopWhen: isStepCount(3), prompt: 'Roll!' })
  const words: string[] = []
  for await (const word of result.textStream) words.push(word)
  expect(words).toEqual(['I ', 'have ', 'dice. ', 'It ', 'shows ', '5.'])
  expect((await result.totalUsage).outputTokens).toBe(7)
})

test('scripted model: a non-streaming response has the same content', async () => {
  const result = await generateText({ model: rolling, tools: { dice }, stopWhen: isStepCount(3), prompt: 'Roll!' })
  expect(result.steps.map(({ text }) => text)).toEqual(['I have dice. ', 'It shows 5.'])
  expect(result.steps[0]!.toolResults).toMatchObject([{ output: 5 }])
})

test('scripted model: an abort ends a paced response', async () => {
  const controller = new AbortController()
  const model = scriptedModel({ script: () => 'one two three', wordsPerSecond: 0.001 })
  const { stream } = await model.doStream({
    prompt: [{ role: 'user', content: [{ type: 'text', text: 'x' }] }],
    abortSignal: controller.signal,
  })
  const reader = stream.getReader()
  expect((await reader.read()).value?.type).toBe('stream-start')
  expect((await reader.read()).value?.type).toBe('text-start')
  const word = reader.read()
  controller.abort(new Error('enough'))
  await expect(word).rejects.toThrow('enough')
})
