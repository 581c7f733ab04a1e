/** assistant-stream on our store: the writer is notified when its stream ends. */
import { createResumableStreamContext } from 'assistant-stream/resumable'
import { expect, onTestFinished, test } from 'vitest'
import { assistantStreams, openResumableStreamStore } from '../../src/assistant-stream/store.ts'
import { silentLogger } from '../../src/core/ports/logger.ts'
import { holdfast } from '../../src/mount/holdfast.ts'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { until } from '../support/until.ts'

test('assistant-stream: onFinalize is called once when a stream has completed', async () => {
  const hf = holdfast({ components: [assistantStreams], store: createMemoryStore(), logger: silentLogger })
  onTestFinished(() => hf.close())
  const calls: (readonly [id: string, status: string])[] = []
  const context = createResumableStreamContext({
    store: openResumableStreamStore({ holdfast: hf }, Date.now),
    onFinalize: (id, status) => void calls.push([id, status]),
  })
  const stream = await context.run('a', () => new Response('x').body!)
  expect(await new Response(stream).text()).toBe('x')
  await until('the writer hears of the end', () => calls.length > 0)
  expect(calls).toEqual([['a', 'done']])
})
