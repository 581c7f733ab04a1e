/** Runs a member and returns its result, whatever kind of component it is. */
import type { Component, Emission, RunContext } from '../../core/ports/component.ts'
import type { Event } from '../../core/model/event.ts'
import { iterate } from '../../core/execution/iterate.ts'

export function callMember(context: RunContext, member: Component, task: unknown): Promise<unknown> {
  return context.call(withOutput(member), task, { name: member.id })
}

/** If an agent has no output, its emitted text is the result. */
function withOutput(member: Component): Component {
  const { id, kind, onUncertainTool, input: accepted, output } = member
  return {
    id,
    kind,
    ...(onUncertainTool !== undefined && { onUncertainTool }),
    ...(accepted !== undefined && { input: accepted }),
    ...(output !== undefined && { output }),
    run: (input, context) => listen(member, input, context),
  }
}

async function* listen(
  member: Component,
  input: unknown,
  context: RunContext,
): AsyncGenerator<Emission, unknown, void> {
  const iterator = iterate(member.run(input, context))
  let text = ''
  try {
    for (;;) {
      const { done, value } = await iterator.next()
      if (done === true) return value ?? orNothing(text)
      text += textOf(value)
      yield isCompletion(value) ? { ...value, data: { output: orNothing(text), ...value.data } } : value
    }
  } finally {
    await iterator.return?.()
  }
}

function textOf(emission: Emission): string {
  if (typeof emission === 'string') return emission
  return emission?.type === 'text.delta' ? emission.data.text : ''
}

function isCompletion(emission: Emission): emission is Extract<Event, { type: 'run.completed' }> {
  return typeof emission === 'object' && emission?.type === 'run.completed'
}

function orNothing(text: string): string | undefined {
  return text === '' ? undefined : text
}
