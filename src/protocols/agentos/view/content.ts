/** A component's content, without retracted output. */
import { textFrom } from '../../../core/structure/text-pieces.ts'
import type { Speaker, State } from './state.ts'
import { valuesOf } from './persistent-list.ts'

export function textOf({ texts }: Speaker): string {
  return textFrom(texts)
}

export function thoughtOf({ thought }: Speaker): string {
  return textFrom(thought)
}

/** Its output, or else its text, or else the content of the last component it called. */
export function contentOf(state: State, speaker: Speaker): unknown {
  const output = speaker.outcome?.output
  if (output !== undefined && output !== null) return output
  const text = textOf(speaker)
  if (text !== '') return text
  if (speaker.kind === 'agent') return undefined
  const called = state.speakers.values().findLast(({ parent }) => parent === speaker.run)
  return called === undefined ? undefined : contentOf(state, called)
}

/** Components that it called, in order. */
export function calledBy(state: State, { run }: Speaker): Speaker[] {
  return state.speakers.values().filter(({ parent }) => parent === run)
}

export interface MediaLists {
  readonly images?: readonly object[]
  readonly videos?: readonly object[]
  readonly audio?: readonly object[]
  readonly files?: readonly object[]
}

const LISTS: ReadonlyMap<string, keyof MediaLists> = new Map([
  ['image', 'images'],
  ['video', 'videos'],
  ['audio', 'audio'],
])

export function mediaOf({ media }: Speaker): MediaLists {
  return Object.groupBy(valuesOf(media), ({ mime_type: type }) => LISTS.get(type.split('/')[0]!) ?? 'files')
}

export function citationsOf({ sources }: Speaker): { readonly citations?: object } {
  return sources === undefined ? {} : { citations: { urls: valuesOf(sources) } }
}
