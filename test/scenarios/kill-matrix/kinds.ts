/** The kinds of components that are killed. Each works through a scene, which can block in every phase. */
import { tool } from 'ai'
import { z } from 'zod'
import { agent } from '../../../src/agents/agent.ts'
import { modelAgent } from '../../../src/agents/model/agent.ts'
import { type ScriptedPart, scriptedModel } from '../../../src/agents/model/scripted/scripted.ts'
import { idempotent, type ToolContext } from '../../../src/agents/model/tools/tools.ts'
import { team } from '../../../src/agents/team/team.ts'
import type { Component } from '../../../src/core/ports/component.ts'
import { publishing } from './flow.ts'
import { brief, program, PROGRAM_PHASES, worker } from './program.ts'
import type { Phase, Scene } from './scene.ts'

/** Options that all kinds share. */
export type Declared = Pick<Component, 'id' | 'recovery' | 'onUncertainTool'>

export interface Kind {
  readonly phases: readonly Phase[]
  /** Work beside every phase; it is over before the kill if its log has this. */
  readonly settled?: string
  make(declared: Declared, scene: Scene): Component
}

const LEFT_ANSWERED = '"type":"actor.completed","actor":{"component":"left-member"'

/** What a watcher has seen at the time of the kill, if the phase alone does not determine it. */
export const seenBefore: Partial<Record<Phase, readonly string[]>> = {
  text: ['"text":"two "'],
  parallel: ['"name":"left","output"'],
  members: [LEFT_ANSWERED],
  answer: ['"text":"in "'],
  block: ['"name":"left-branch","output"', '"name":"agent-branch","output"'],
}

export const kinds: Readonly<Record<string, Kind>> = {
  'bare agent': {
    phases: PROGRAM_PHASES,
    make: (declared, scene) => agent<unknown>({ ...declared, run: (_, context) => program(scene, context) }),
  },
  'model agent': {
    phases: ['start', 'text', 'between', 'tool', 'uncertain', 'parallel', 'paused', 'answer'],
    make: modelled,
  },
  'coordinating team': {
    phases: [...PROGRAM_PHASES, 'handover', 'members', 'answer'],
    make: coordinated,
  },
  'routing team': { phases: PROGRAM_PHASES, make: routed },
  'broadcasting team': {
    phases: [...PROGRAM_PHASES, 'handover', 'answer'],
    settled: LEFT_ANSWERED,
    make: broadcast,
  },
  'nested team': { phases: [...PROGRAM_PHASES, 'handover', 'members', 'answer'], make: nested },
  workflow: {
    phases: [...PROGRAM_PHASES, 'handover', 'condition', 'block', 'loop', 'router', 'confirm'],
    make: publishing,
  },
}

/** The responses of a scripted model, in order. Each model request is a side effect too: it is paid for. */
function scripted(
  scene: Scene,
  name: string,
  turns: readonly ((request: string) => AsyncGenerator<ScriptedPart, void, void>)[],
): ReturnType<typeof scriptedModel> {
  return scriptedModel({
    script({ turn }) {
      const request = `${name}-${turn}`
      scene.did(request)
      return turns[turn - 1]!(request)
    },
  })
}

function use(...names: readonly string[]): ScriptedPart[] {
  return names.map((name) => ({ type: 'tool', name }))
}

function delegate(...members: readonly string[]): ScriptedPart[] {
  const name = 'delegate_task_to_member'
  return members.map((member) => ({ type: 'tool', name, input: { member, task: 'do your part' } }))
}

async function* answering(scene: Scene, request: string): AsyncGenerator<ScriptedPart, void, void> {
  yield 'all in '
  await scene.hold('answer', request)
  yield 'all'
}

/** Killed between the previous output and the response to this request. */
function after(scene: Scene, phase: Phase, ...parts: readonly ScriptedPart[]) {
  return async function* (request: string): AsyncGenerator<ScriptedPart, void, void> {
    await scene.hold(phase, request)
    yield* parts
  }
}

function modelled(declared: Declared, scene: Scene): Component {
  const doing = (name: string, phase?: Phase) =>
    tool({
      inputSchema: z.object({}),
      execute: (_, { context }) => scene.work(name, phase)({ key: (context as ToolContext).idempotencyKey }),
    })
  return modelAgent({
    ...declared,
    tools: {
      gather: doing('gather'),
      look: idempotent(doing('look', 'tool')),
      pay: doing('pay', 'uncertain'),
      left: doing('left'),
      right: idempotent(doing('right', 'parallel')),
      publish: { ...doing('publish'), needsApproval: true },
    },
    model: scripted(scene, 'model', [
      async function* (request) {
        await scene.hold('start', request)
        yield 'one two '
        await scene.hold('text', request)
        yield 'three '
        yield* use('gather')
      },
      after(scene, 'between', ...use('look')),
      after(scene, 'between', ...use('pay')),
      after(scene, 'between', ...use('left', 'right')),
      after(scene, 'between', ...use('publish')),
      (request) => answering(scene, request),
    ]),
  })
}

function coordinated(declared: Declared, scene: Scene, name = 'leader'): Component {
  return team({
    ...declared,
    members: [worker(scene), brief(scene, 'left-member'), brief(scene, 'right-member', 'members')],
    model: scripted(scene, name, [
      after(scene, 'start', ...delegate('worker')),
      after(scene, 'handover', ...delegate('left-member', 'right-member')),
      (request) => answering(scene, request),
    ]),
  })
}

function routed(declared: Declared, scene: Scene): Component {
  return team({
    ...declared,
    mode: 'route',
    members: [worker(scene)],
    model: scripted(scene, 'leader', [after(scene, 'start', ...delegate('worker'))]),
  })
}

function broadcast(declared: Declared, scene: Scene): Component {
  return team({
    ...declared,
    mode: 'broadcast',
    members: [brief(scene, 'left-member'), worker(scene)],
    model: scripted(scene, 'leader', [
      async function* (request) {
        await scene.hold('handover', request)
        yield* answering(scene, request)
      },
    ]),
  })
}

/** A team that is the one member of another. */
function nested(declared: Declared, scene: Scene): Component {
  const { onUncertainTool } = declared
  return team({
    ...declared,
    members: [coordinated({ id: 'desk', ...(onUncertainTool !== undefined && { onUncertainTool }) }, scene, 'desk')],
    model: scripted(scene, 'chief', [
      after(scene, 'start', ...delegate('desk')),
      async function* () {
        yield 'so be it'
      },
    ]),
  })
}
