/** Runs a component between its schemas: parses the input before the first emission and the output before the terminal event. */
import type { Component, Emission, RunContext } from '../ports/component.ts'
import type { Event } from '../model/event.ts'
import { issuesText, validate } from '../schema/validate.ts'
import { iterate } from './iterate.ts'
import { RunFailure } from './run-failure.ts'

export function runComponent(
  component: Component,
  input: unknown,
  context: RunContext,
): AsyncIterator<Emission, unknown> {
  if (component.input === undefined && component.output === undefined) return iterate(component.run(input, context))
  return new CheckedRun(component, input, context)
}

class CheckedRun implements AsyncIterator<Emission, unknown> {
  readonly #component: Component
  readonly #open: () => Promise<AsyncIterator<Emission, unknown>>
  #inner: AsyncIterator<Emission, unknown> | undefined

  constructor(component: Component, input: unknown, context: RunContext) {
    this.#component = component
    this.#open = async () => iterate(component.run(await parseInput(component, input), context))
  }

  next(): Promise<IteratorResult<Emission, unknown>> {
    const inner = this.#inner
    if (inner === undefined) return this.#first()
    // Without an output schema, emissions skip one round of the microtask queue.
    return this.#component.output === undefined ? inner.next() : inner.next().then((result) => this.#checked(result))
  }

  async return(): Promise<IteratorResult<Emission, unknown>> {
    return (await this.#inner?.return?.()) ?? { done: true, value: undefined }
  }

  async #first(): Promise<IteratorResult<Emission, unknown>> {
    this.#inner = await this.#open()
    return this.next()
  }

  async #checked(result: IteratorResult<Emission, unknown>): Promise<IteratorResult<Emission, unknown>> {
    if (result.done === true) return { done: true, value: await parseOutput(this.#component, result.value) }
    const { value } = result
    if (!isCompletion(value)) return result
    const output = await parseOutput(this.#component, value.data.output)
    return { done: false, value: { ...value, data: { ...value.data, output } } }
  }
}

function isCompletion(emission: Emission): emission is Extract<Event, { type: 'run.completed' }> {
  return typeof emission === 'object' && emission?.type === 'run.completed'
}

async function parseInput({ id, input: schema }: Component, input: unknown): Promise<unknown> {
  if (schema === undefined) return input
  const { issues, value } = await validate(schema, input)
  if (issues === undefined) return value
  throw new RunFailure('invalid_input', `the input does not match the schema of ${id}: ${issuesText(issues)}`, {
    issues,
  })
}

async function parseOutput({ id, output: schema }: Component, output: unknown): Promise<unknown> {
  if (schema === undefined) return output
  const { issues, value } = await validate(schema, output)
  if (issues === undefined) return value
  throw new RunFailure('invalid_output', `the output does not match the schema of ${id}: ${issuesText(issues)}`, {
    issues,
  })
}
