/** Helpers for adapter tests: run one component to its end. */
import type { Component } from '../../src/core/ports/component.ts'
import type { EventData, EventType, LoggedEvent } from '../../src/core/model/event.ts'
import { openNode, type TestNode } from './node.ts'
import { World } from './world.ts'

/** Generous, for other programs on a busy machine. */
export const PATIENCE_MS = 180_000

export async function logOf(component: Component, input: unknown = 'hello'): Promise<LoggedEvent[]> {
  const node = openNode({ components: [component] })
  return node.ended(await node.start(component.id, input), PATIENCE_MS)
}

export function dataOf<Type extends EventType>(log: readonly LoggedEvent[], type: Type): EventData[Type][] {
  return log.filter((event) => event.type === type).map(({ data }) => data as EventData[Type])
}

export async function paused(node: TestNode, id: string, times = 1): Promise<EventData['run.paused']['questions']> {
  await node.reached(id, 'paused', PATIENCE_MS)
  const pauses = dataOf(await node.log(id), 'run.paused')
  if (pauses.length < times) throw new Error(`run ${id} paused ${pauses.length} times instead of ${times}`)
  return pauses.at(-1)!.questions
}

/** Answers all questions of a run with the same answer; returns the log after its end. */
export async function answered(
  component: Component,
  answer: unknown,
  input: unknown = 'hello',
): Promise<LoggedEvent[]> {
  const node = openNode({ components: [component] })
  const id = await node.start(component.id, input)
  const questions = await paused(node, id)
  await node.answer(id, Object.fromEntries(questions.map((question) => [question.id, answer])))
  return node.ended(id, PATIENCE_MS)
}

/** The same, but the worker dies during the pause and a fresh one continues. */
export async function answeredElsewhere(
  make: () => Component,
  answer: unknown,
  input: unknown = 'hello',
): Promise<LoggedEvent[]> {
  const world = new World(make())
  const first = world.worker()
  const id = await first.start(make().id, input)
  const questions = await paused(first, id)
  world.kill()
  const second = world.worker([make()])
  await second.answer(id, Object.fromEntries(questions.map((question) => [question.id, answer])))
  return second.ended(id, PATIENCE_MS)
}
