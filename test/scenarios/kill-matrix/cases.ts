/** The cases of the matrix. Each has its own component with one run. */
import type { Component, RecoveryPolicy, UncertainPolicy } from '../../../src/core/ports/component.ts'
import { kinds } from './kinds.ts'
import { type Phase, Scene } from './scene.ts'

/** The decision about a tool call that may have had its effect. */
export type Decision = 'retry' | 'result' | 'fail'

export interface Case {
  /** The component's. */
  readonly id: string
  readonly kind: string
  readonly recovery: RecoveryPolicy
  readonly uncertain: UncertainPolicy
  readonly decision: Decision
  /** Undefined for the run that nothing happens to. */
  readonly phase: Phase | undefined
  readonly kills: number
}

/** Phases in which the run has asked a question, and the beginning of that question. */
export const questionsOf: Partial<Record<Phase, RegExp>> = {
  paused: /^paused|^May publish be called/,
  confirm: /^confirm/,
}

/** Whether the run waits for a person when it is killed, so that no work is interrupted. */
export function asks({ phase }: Case): boolean {
  return phase !== undefined && questionsOf[phase] !== undefined
}

export function casesOf(kind: string): Case[] {
  const { phases } = kinds[kind]!
  return [undisturbed(kind), ...phases.flatMap((phase) => casesIn(kind, phase))]
}

function undisturbed(kind: string): Case {
  return named({ kind, recovery: 'resume', phase: undefined, kills: 0, uncertain: 'ask', decision: 'retry' })
}

function casesIn(kind: string, phase: Phase): Case[] {
  const common = { kind, phase, uncertain: 'ask', decision: 'retry' } as const
  const decided = phase !== 'uncertain' ? [] : (['result', 'fail'] as const)
  return [
    { ...common, recovery: 'fail', kills: 1 } as const,
    ...([1, 2] as const).flatMap((kills) => [
      { ...common, recovery: 'retry', kills } as const,
      { ...common, recovery: 'resume', kills } as const,
    ]),
    ...decided.map((decision) => ({ ...common, recovery: 'resume', kills: 1, decision }) as const),
    ...(phase === 'uncertain' ? [{ ...common, recovery: 'resume', kills: 1, uncertain: 'fail' } as const] : []),
  ].map(named)
}

function named(described: Omit<Case, 'id'>): Case {
  const { kind, recovery, phase = 'none', kills, uncertain, decision } = described
  const id = [kind.replace(' ', '-'), recovery, phase, kills, uncertain, decision].join('.')
  return { ...described, id }
}

export function componentOf({ id, kind, recovery, uncertain, phase, kills }: Case): Component {
  return kinds[kind]!.make({ id, recovery, onUncertainTool: uncertain }, new Scene({ component: id, phase, kills }))
}
