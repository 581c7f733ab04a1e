/** The demo agent: tells a story about whatever it is asked for, word by word, at a pace that a person can read. */
import type { Component, Emission } from '../../core/agent.ts'
import { HoldfastError } from '../../core/errors.ts'
import { story } from './story.ts'

/** A little faster than one reads aloud: the story takes just under a minute. */
export const WORDS_PER_SECOND = 15

export interface StorytellerOptions {
  /** Infinity tells the story as fast as it is taken. */
  readonly wordsPerSecond?: number
}

/** The same request gives the same story, so a story that was cut off goes on at the word where it stopped. */
export function storyteller({ wordsPerSecond = WORDS_PER_SECOND }: StorytellerOptions = {}): Component<string> {
  return {
    id: 'storyteller',
    kind: 'agent',
    name: 'Storyteller',
    description: 'Tells a story about what you ask for, such as "Tell me a story about a brave knight".',
    recovery: 'resume',
    parse: requestOf,
    async *run(request, context): AsyncGenerator<Emission, void, void> {
      for (const word of words(story(request))) {
        await context.sleep(1000 / wordsPerSecond)
        yield word
      }
    },
  }
}

function requestOf(input: unknown): string {
  if (typeof input === 'string') return input
  if (typeof input === 'object' && input !== null && 'text' in input && typeof input.text === 'string')
    return input.text
  throw new HoldfastError('invalid_request', 'the storyteller takes a string, or an object with a string `text`')
}

/** Each word with the blanks that follow it, so that the pieces put together are the text. */
function words(text: string): readonly string[] {
  return text.match(/\S+\s*/g) ?? []
}
