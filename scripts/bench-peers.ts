/** `npm run bench:peers [-- --rounds N --only NAME,NAME --write]`: every peer of the judge in turn; `--write` writes docs/comparison/speed.md and its plots. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { describeMachine } from '../bench/machine.ts'
import { plots, speedPage } from './bench-peers-page.ts'
import { root } from './command.ts'
import { peers, plain } from './judge-peers.ts'
import { measurePeers } from './measure-peers.ts'

const ROUNDS_MAX = 20
const { values } = parseArgs({
  options: {
    rounds: { type: 'string', default: '3' },
    only: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
})
const rounds = Number(values.rounds)
if (!Number.isInteger(rounds) || rounds < 1 || rounds > ROUNDS_MAX) {
  console.error(`--rounds takes a whole number from 1 to ${ROUNDS_MAX}, not "${values.rounds}"`)
  process.exit(2)
}
const wanted = values.only?.split(',')
const chosen = [plain, ...peers].filter(({ name }) => wanted === undefined || wanted.includes(name))
const found = await measurePeers(chosen, rounds)
const about = `Medians of ${rounds} rounds in turn, ${new Date().toISOString().slice(0, 10)}, ${describeMachine()}.`
const page = speedPage(found, about)
console.log(page)
if (values.write) {
  const folder = join(root, 'docs/comparison')
  writeFileSync(join(folder, 'speed.md'), page)
  for (const [name, svg] of plots(found)) writeFileSync(join(folder, name), svg)
}
