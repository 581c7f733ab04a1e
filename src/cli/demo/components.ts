/** What the demo serves. All of it runs without a key and without a network. */
import { storyteller } from '../../agents/storyteller/agent.ts'
import type { Component } from '../../core/agent.ts'
import { clerk } from './clerk.ts'
import { newsroom } from './newsroom.ts'
import { publish } from './publish.ts'

/** Those on a model need the AI SDK, which an installed package may not have beside it. */
export function demoComponents(): Component[] {
  return [storyteller(), publish(), ...(hasAiSdk() ? [newsroom(), clerk()] : [])]
}

function hasAiSdk(): boolean {
  try {
    import.meta.resolve('ai')
    return true
  } catch {
    return false
  }
}
