/** `npm run bench:peers [-- --rounds N --only NAME,NAME --write]`: every peer of the judge in turn; `--write` writes docs/comparison/speed.md and its plots. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { median } from '../bench/figures.ts'
import { describeMachine } from '../bench/machine.ts'
import { type PeerFigures, plots, speedPage } from './bench-peers-page.ts'
import { root } from './command.ts'
import { type Peer, peers, plain, runOnPeer } from './judge-peers.ts'

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
const measured = new Map(
  chosen.map((peer) => [peer, { values: new Map<string, number[]>(), problems: new Map<string, string>() }]),
)
for (let round = 1; round <= rounds; round++) {
  for (const peer of chosen) {
    console.log(`round ${round} of ${rounds}: ${peer.title}`)
    await measure(peer)
  }
}
const found = chosen.map(figuresOf)
const about = `Medians of ${rounds} rounds in turn, ${new Date().toISOString().slice(0, 10)}, ${describeMachine()}.`
const page = speedPage(found, about)
console.log(page)
if (values.write) {
  const folder = join(root, 'docs/comparison')
  writeFileSync(join(folder, 'speed.md'), page)
  for (const [name, svg] of plots(found)) writeFileSync(join(folder, name), svg)
}

interface Line {
  readonly figure: string
  readonly value: number | null
  readonly problem?: string
}

async function measure(peer: Peer): Promise<void> {
  const { values: figures, problems } = measured.get(peer)!
  await runOnPeer(peer, 'judge.peers.bench', (line) => {
    const { figure, value, problem } = line as Line
    console.log(`  ${figure}: ${value === null ? (problem ?? 'no way') : value.toFixed(1)}`)
    if (value !== null) figures.set(figure, [...(figures.get(figure) ?? []), value])
    else if (problem !== undefined) problems.set(figure, problem)
  })
}

function figuresOf(peer: Peer): PeerFigures {
  const { values: of, problems } = measured.get(peer)!
  // One incomplete round is no figure.
  const complete = [...of].filter(([figure]) => !problems.has(figure))
  const figures = new Map(complete.map(([figure, all]) => [figure, median(all)]))
  return { title: peer.title, versions: peer.versions(), figures, problems }
}
