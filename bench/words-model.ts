/** The benchmark model: numbered words, as fast as they are consumed or at a fixed rate. */
import { type ScriptedModelOptions, scriptedModel } from '../src/agents/model/scripted/scripted.ts'
import { type Gate, SEQUENCE_DIGITS, type Work } from './agent.ts'

type Model = ReturnType<typeof scriptedModel>

/** Words per second of the paced model. */
export const PACE = 50

/** The prompt: the work as text. */
export function promptOf(work: unknown): string {
  return JSON.stringify(work)
}

export class WordsModels {
  readonly fast: Model
  readonly paced: Model

  constructor(gate: Gate) {
    const script: ScriptedModelOptions['script'] = async function* ({ text }) {
      const { events } = JSON.parse(text) as Work
      await gate.pass()
      yield Array.from({ length: events }, (_, sequence) => word(sequence)).join(' ')
    }
    this.fast = scriptedModel({ script })
    this.paced = scriptedModel({ script, wordsPerSecond: PACE })
  }

  /** Selects the model for a prompt. */
  for(prompt: string): 'fast' | 'paced' {
    return (JSON.parse(prompt) as Work).intervalMs > 0 ? 'paced' : 'fast'
  }
}

function word(sequence: number): string {
  return `~${String(sequence).padStart(SEQUENCE_DIGITS, '0')}`
}
