/** The demo's scripted model: needs no key and no network, and streams at reading speed. */
import type { LanguageModel } from 'ai'
import { scriptedModel, type ScriptedModelOptions } from '../../agents/model/scripted/scripted.ts'

/** The story takes just under a minute. */
export const WORDS_PER_SECOND = 15

/** The configured model, or a scripted one. */
export function modelOr(
  given: LanguageModel | undefined,
  id: string,
  script: ScriptedModelOptions['script'],
): LanguageModel {
  return given ?? scriptedModel({ id, script, wordsPerSecond: WORDS_PER_SECOND })
}
