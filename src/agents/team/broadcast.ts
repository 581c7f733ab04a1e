/** Gives one task to all members concurrently and collects their results for the leader. */
import type { ModelMessage } from 'ai'
import type { Component, RunContext } from '../../core/ports/component.ts'
import { RunFailure } from '../../core/execution/run-failure.ts'
import { messageOf } from '../../core/model/errors.ts'
import { mapWithConcurrency } from '../model/map-with-concurrency.ts'
import { callMember } from './members.ts'

export interface MemberResult {
  readonly member: string
  readonly answer?: unknown
  readonly problem?: string
}

export async function resultsOf(
  context: RunContext,
  members: readonly Component[],
  task: unknown,
  concurrency: number,
): Promise<MemberResult[]> {
  const answers: MemberResult[] = []
  await mapWithConcurrency(concurrency, members, async (member, position) => {
    answers[position] = await resultOf(context, member, task)
  })
  return answers
}

async function resultOf(context: RunContext, member: Component, task: unknown): Promise<MemberResult> {
  try {
    return { member: member.id, answer: await callMember(context, member, task) }
  } catch (thrown) {
    if (context.signal.aborted || thrown instanceof RunFailure) throw thrown
    return { member: member.id, problem: messageOf(thrown) }
  }
}

export function withResults(task: readonly ModelMessage[], answers: readonly MemberResult[]): ModelMessage[] {
  const replies = answers.map(({ member, answer, problem }) =>
    problem === undefined ? `${member} answered:\n${answerText(answer)}` : `${member} failed: ${problem}`,
  )
  return [...task, { role: 'user', content: replies.join('\n\n') }]
}

function answerText(answer: unknown): string {
  return typeof answer === 'string' ? answer : JSON.stringify(answer ?? null)
}
