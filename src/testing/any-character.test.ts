import { expect, test } from 'vitest'
import { anyCharacter } from './any-character.ts'

test.each(['\u0000', 'a', '\ud7ff', '\ue000', '\u{10ffff}'])('any character: %j can be one', (text) => {
  expect(anyCharacter.canShrinkWithoutContext(text)).toBe(true)
})

test.each(['', 'ab', '\ud800', '\udfff', 1])('any character: %j cannot be one', (text) => {
  expect(anyCharacter.canShrinkWithoutContext(text)).toBe(false)
})
