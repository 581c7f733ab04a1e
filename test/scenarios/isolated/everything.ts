/** An agent that uses everything in its context. Served both isolated and not, to compare the logs. */
import { agent } from '../../../src/agents/agent.ts'
import { fromCheck, fromJsonSchema } from '../../../src/core/schema/json-schema.ts'
import { createEvent, WorkError } from '../../../src/core/ports/component.ts'

class CardError extends Error {
  override readonly name = 'CardError'
  readonly code = 'declined'
  readonly data = { left: 3 }
}

const helper = agent({
  id: 'helper',
  input: fromCheck((input) => String(input).toUpperCase(), { type: 'string' }),
  async *run(input, { step, runId: run, signal }) {
    yield `helping ${input} ${run.includes('/')} ${signal.aborted}`
    return step('inside', () => ({ helped: input }))
  },
})

const failing = agent({
  id: 'failing',
  async *run() {
    yield 'about to fail'
    throw new CardError('no money')
  },
})

export const everything = agent({
  id: 'everything',
  recovery: 'resume',
  description: 'a component of all trades',
  limits: { stopGraceMs: 200 },
  input: fromJsonSchema({ title: 'Anything' }),
  async *run(input, context) {
    const {
      step,
      stage,
      tool,
      call,
      within,
      ask,
      sleep,
      sleepUntil,
      history,
      attempt,
      sessionId: session,
      metadata,
    } = context
    yield `input ${JSON.stringify(input)} attempt ${attempt} session ${session === ''} ${JSON.stringify(metadata)}`
    yield createEvent('custom.emitted', {
      name: 'values',
      value: { when: new Date(0), big: 12n, bytes: new Uint8Array([1]) },
    })
    const made = await step('make', async () => ({ n: 1, at: new Date(0), gone: undefined }), {
      kind: 'model',
      key: 'k',
    })
    yield `made ${JSON.stringify(made)}`
    yield `nothing ${String(await step('nothing', () => undefined))}`
    const staged = await stage('show', async function* () {
      yield 'in the stage'
      await step('nested', () => 2)
      return 'staged'
    })
    yield staged
    const caught = await step('decline', (): never => {
      throw new CardError('declined')
    }).catch((error: unknown) => error as WorkError)
    yield `caught ${caught instanceof WorkError} ${caught.name} ${String(caught.code)} ${JSON.stringify(caught.data)} ${caught.cause instanceof CardError}`
    const paid = await tool(
      { name: 'pay', input: { amount: 5 }, idempotent: true },
      async ({ key, progress, signal }) => {
        await progress({ half: signal.aborted })
        return `paid ${key.endsWith('pay')}`
      },
    )
    yield paid
    yield JSON.stringify(await call(helper, 'me', { name: 'friend' }))
    const failure = await call(failing, null).catch((error: unknown) => error as WorkError)
    yield `${(failure as WorkError).name} ${String((failure as WorkError).code)}`
    const left = within('left')
    const right = within('right')
    const both = await Promise.all([left, right].map((branch, n) => branch.step('same', () => n)))
    yield `both ${both.join()}`
    const controller = new AbortController()
    const cut = call(
      agent({
        id: 'slow',
        async *run(_: unknown, { signal }) {
          controller.abort(new Error('enough'))
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
          yield 'late'
        },
      }),
      null,
      { signal: controller.signal },
    )
    yield `cut ${await cut.then(String, (error: unknown) => (error as Error).message)}`
    await sleep(1)
    await sleepUntil(new Date(0))
    yield `history ${(await history()).length}`
    const answer = await ask({ prompt: 'How many?', schema: { type: 'number' } })
    yield `answer ${String(answer)}`
    return { made, answer }
  },
})
