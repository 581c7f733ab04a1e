/** The model that the demo has without a key and without a network, at a pace that a person can read. */
import type { LanguageModel } from 'ai'
import { scriptedModel, type ScriptedModelOptions } from '../../agents/model/scripted.ts'

/** A little faster than one reads aloud: the story takes just under a minute. */
export const WORDS_PER_SECOND = 15

/** The model of whoever started the demo, where there is one. */
export function modelOr(
  given: LanguageModel | undefined,
  id: string,
  script: ScriptedModelOptions['script'],
): LanguageModel {
  return given ?? scriptedModel({ id, script, wordsPerSecond: WORDS_PER_SECOND })
}
