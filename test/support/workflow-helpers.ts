/** Helpers for workflow tests, with compact logs. */
import { agent } from '../../src/agents/agent.ts'
import { step, type StepContext } from '../../src/agents/workflow/index.ts'
import type { Component } from '../../src/core/ports/component.ts'
import type { LoggedEvent } from '../../src/core/model/event.ts'
import { openNode } from './node.ts'
import { hangAtFirst, World } from './world.ts'
import { until } from './until.ts'

/** Runs a component to its end. */
export async function logOf<In>(component: Component<In>, input: unknown = null): Promise<LoggedEvent[]> {
  const node = openNode({ components: [component] })
  return node.ended(await node.start(component.id, input))
}

/** Executes a run until its log matches, kills the worker, and lets another one finish the run. */
export async function logAfterCrash<In>(
  component: Component<In>,
  input: unknown,
  reached: (story: readonly string[]) => boolean,
): Promise<LoggedEvent[]> {
  const world = new World(component)
  const first = world.worker()
  const id = await first.start(component.id, input)
  let story: readonly string[] = []
  const look = async (): Promise<boolean> => reached((story = storyOf(await first.log(id))))
  await until(() => `the log is as the test wants it; it has\n${story.join('\n')}`, look, { everyMs: 2 })
  world.kill()
  return world.worker().ended(id)
}

/** Events of steps and actors, in order, by id. */
export function storyOf(log: readonly LoggedEvent[]): string[] {
  return log.flatMap((event) => {
    switch (event.type) {
      case 'step.started':
      case 'step.completed':
      case 'step.failed':
      case 'step.skipped':
        return [`${event.type} ${event.data.step}`]
      case 'actor.started':
      case 'actor.completed':
      case 'actor.failed':
        return [`${event.type} ${event.data.key}`]
      case 'text.delta':
        return [`text ${event.data.text}`]
      case 'run.paused':
      case 'attempt.discarded':
        return [event.type]
      default:
        return []
    }
  })
}

/** Output of a completed run; throws the error of a failed one. */
export function resultOf(log: readonly LoggedEvent[]): unknown {
  const end = log.at(-1)!
  if (end.type !== 'run.completed') throw new Error(`${end.type}: ${JSON.stringify(end.data)}`)
  return end.data.output
}

/** Error of a failed run. */
export function failureOf(log: readonly LoggedEvent[]): { readonly code: string; readonly message: string } {
  const end = log.at(-1)!
  if (end.type !== 'run.failed') throw new Error(`expected run.failed, got ${end.type}`)
  return end.data.error
}

/** `step.started` of a step, by its id. */
export function startOf(log: readonly LoggedEvent[], id: string): unknown {
  return log.find((event) => event.type === 'step.started' && event.data.step === id)?.data
}

/** Matches a log that has all of these. */
export function has(...lines: readonly string[]): (story: readonly string[]) => boolean {
  return (story) => lines.every((line) => story.includes(line))
}

/** Counts side effects by name. */
export class Effects {
  readonly counts: Record<string, number> = {}

  note(name: string): number {
    return (this.counts[name] = (this.counts[name] ?? 0) + 1)
  }

  /** A function step that completes immediately. */
  quick<const Name extends string>(name: Name) {
    return step({ name, run: (input: string) => `${input}${name}${this.note(name)} ` })
  }

  /** A function step that hangs in the run's first attempt. */
  hanging<const Name extends string>(name: Name) {
    return step({
      name,
      run: async (input: string, context: StepContext) => {
        this.note(name)
        await hangAtFirst(context)
        return `${input}${name} `
      },
    })
  }

  /** A step whose agent emits two texts and hangs between them. */
  talking(name: string, hangs = false): Component<string> {
    const note = (): number => this.note(name)
    return agent({
      id: name,
      async *run(input, context) {
        note()
        yield `${name}1 `
        if (hangs) await hangAtFirst(context)
        yield `${name}2 `
        return `${input}${name} `
      },
    })
  }
}
