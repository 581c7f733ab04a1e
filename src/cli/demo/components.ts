/** What the demo serves. All of it runs without a key and without a network. */
import { storyteller } from '../../agents/storyteller/agent.ts'
import type { Component } from '../../core/agent.ts'
import { publish } from './publish.ts'

/** Those on a model need the AI SDK, which an installed package may not have beside it. */
export async function demoComponents(): Promise<Component[]> {
  return [storyteller(), publish(), ...((await hasAiSdk()) ? await onModels() : [])]
}

async function onModels(): Promise<Component[]> {
  const [{ newsroom }, { clerk }] = await Promise.all([import('./newsroom.ts'), import('./clerk.ts')])
  return [newsroom(), await clerk()]
}

async function hasAiSdk(): Promise<boolean> {
  try {
    await import('ai')
    return true
  } catch {
    return false
  }
}
