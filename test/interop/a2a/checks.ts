/** Checks of Holdfast's client against the agent in `python/agent.py`. */
import { A2aClient, type A2aClientOptions, textOf } from '../../../src/a2a/index.ts'
import { collected, cutting, taskOf, textsOf, textOfUpdates } from './seen.ts'

type Check = (client: A2aClient, url: string, options: A2aClientOptions) => Promise<void>

const WHOLE = Array.from({ length: 20 }, (_, index) => `[${index}]`).join('')

export const checks: Readonly<Record<string, Check>> = {
  async 'sends and waits'(client) {
    same(textsOf(taskOf(await client.send('count'))), WHOLE)
  },
  async 'streams, and what was streamed is what the task is'(client) {
    const stream = client.stream('count')
    same(textOfUpdates(await collected(stream)), WHOLE)
    same(textsOf(await client.get(stream.task!.id)), WHOLE)
  },
  async asks(client) {
    const task = taskOf(await client.stream('ask').result())
    same([task.status.state, textOf(task.status.message!.parts)], ['TASK_STATE_INPUT_REQUIRED', 'Which one?'])
    const answer = { taskId: task.id, contextId: task.contextId!, parts: [{ text: 'the blue one' }] }
    same(taskOf(await client.stream(answer, { answered: task.status }).result()).status.state, 'TASK_STATE_COMPLETED')
  },
  async cancels(client) {
    const { id } = taskOf(await client.send('endless', { wait: false }))
    same((await client.cancel(id)).status.state, 'TASK_STATE_CANCELED')
  },
  async 'is told that a task is not there'(client) {
    const code = await client.get('nowhere').then(
      () => 'found',
      (cause: unknown) => (cause as { code?: string }).code,
    )
    same(code, 'task_not_found')
  },
}

/** For bindings whose bytes the test can cut. */
export const checksOverHttp: Readonly<Record<string, Check>> = {
  async 'streams that are cut are taken up, and nothing is lost or told twice'(_client, url, options) {
    const cuts = [1200, 900, 1500, 2000]
    const cut = await A2aClient.connect(url, { ...options, fetch: cutting(cuts, 'end') })
    same(textOfUpdates(await collected(cut.stream('count'))), WHOLE)
    same(cuts.length, 0)
  },
}

function same(found: unknown, expected: unknown): void {
  if (JSON.stringify(found) !== JSON.stringify(expected))
    throw new Error(`${JSON.stringify(found)} where ${JSON.stringify(expected)} was expected`)
}
