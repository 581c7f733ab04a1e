import fc from 'fast-check'
import { expect, test } from 'vitest'
import { coloured, safeIo } from './safe-output.ts'
import { Screen } from './screen.ts'
import { styleOf } from './style.ts'
import { anyCharacter } from '../../testing/any-character.ts'

const ATTACK = 'a\u001b]0;title\u0007\u001b[2J\u001b[5A\u001b[8mb\u009b1mc\rd'
const SHOWN = 'a\u{fffd}]0;title\u{fffd}\u{fffd}[2J\u{fffd}[5A\u{fffd}[8mb\u{fffd}1mc\u{fffd}d'

function terminal(isTTY: boolean) {
  const written: string[] = []
  const output = { isTTY, write: (text: string) => void written.push(text) }
  return { written, output, io: safeIo({ stdout: output, stderr: output, env: {} }) }
}

test('terminal: control sequences in untrusted text are shown, not executed', () => {
  const { io, written } = terminal(true)
  io.stdout.write(ATTACK)
  io.stderr.write(ATTACK)
  expect(written).toEqual([SHOWN, SHOWN])
})

test('terminal: Holdfast’s own colours stay, and a pipe gets the original text', () => {
  const { bold, dim, red, green, yellow, cyan } = styleOf({ isTTY: true, write: () => {} }, {})
  const ours = bold('b') + dim('d') + red('r') + green('g') + yellow('y') + cyan('c\n')
  expect(coloured(ours)).toBe(ours)
  const { io, written } = terminal(false)
  io.stdout.write(ATTACK)
  expect(written).toEqual([ATTACK])
})

test('terminal: redrawn rows have no sequences but those that draw them', () => {
  const { io, written } = terminal(true)
  const screen = new Screen(io.stdout)
  screen.draw([ATTACK], [ATTACK])
  screen.draw([], ['x'])
  expect(written.join('')).toBe(`${SHOWN}\n${SHOWN}\r\u001b[Jx`)
})

test('terminal: the only control characters in the output are colours', () => {
  fc.assert(
    fc.property(
      fc.string({ unit: anyCharacter }),
      fc.constantFrom('', '\u001b', '\u001b[', '\u009b'),
      (text, begin) => {
        // oxlint-disable-next-line no-control-regex -- they are control characters
        const left = coloured(text + begin + text).replaceAll(/\u001b\[(?:1|2|22|31|32|33|36|39)m/g, '')
        return !/(?!\n)\p{Cc}/u.test(left)
      },
    ),
  )
})
