import { expect, test } from 'vitest'
import { withSeed } from '../../../test/support/with-seed.ts'
import { addPiece, piecesOf, retractPieces, textFrom, type TextPiece, type TextPieces } from './text-pieces.ts'

test('text pieces: random additions and retractions give the same text as a plain list', () =>
  withSeed((random) => {
    let pieces: TextPieces | undefined
    let plain: TextPiece[] = []
    /** Earlier texts, which must not change. */
    const kept: { readonly pieces: TextPieces | undefined; readonly plain: readonly TextPiece[] }[] = []
    for (let index = 0; index < 2000; index++) {
      if (random.chance(0.02)) {
        const from = Math.max(0, index - random.between(0, random.pick([3, 70, 500])))
        pieces = retractPieces(pieces, from)
        plain = plain.filter((piece) => piece.index < from)
      } else if (random.chance(0.8)) {
        const text = random.pick(['', 'word ', 'Grüße '])
        pieces = addPiece(pieces, index, text)
        plain = [...plain, { index, text }]
      }
      if (random.chance(0.05)) kept.push({ pieces, plain })
    }
    for (const each of [...kept, { pieces, plain }]) {
      const whole = each.plain.map(({ text }) => text).join('')
      expect(textFrom(each.pieces)).toBe(whole)
      expect(each.pieces?.length ?? 0).toBe(whole.length)
      for (const start of [1, whole.length - 300, whole.length - 1, whole.length, whole.length + 1])
        expect(textFrom(each.pieces, Math.max(0, start))).toBe(whole.slice(Math.max(0, start)))
      expect(piecesOf(each.pieces).map(({ index, text }) => ({ index, text }))).toEqual(each.plain)
    }
    return Promise.resolve()
  }))
