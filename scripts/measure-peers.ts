/** Measures peers of the judge in turn, so that a change of the machine's load meets all of them. */
import { median } from '../bench/figures.ts'
import type { PeerFigures } from './bench-peers-page.ts'
import { type Peer, runOnPeer } from './judge-peers.ts'

interface Line {
  readonly figure: string
  readonly value: number | null
  readonly problem?: string
}

interface Measured {
  readonly values: Map<string, number[]>
  readonly problems: Map<string, string>
}

export async function measurePeers(peers: readonly Peer[], rounds: number): Promise<PeerFigures[]> {
  const measured = new Map(peers.map((peer): [Peer, Measured] => [peer, { values: new Map(), problems: new Map() }]))
  for (let round = 1; round <= rounds; round++) {
    for (const [peer, found] of measured) {
      console.log(`round ${round} of ${rounds}: ${peer.title}`)
      await measure(peer, found)
    }
  }
  return [...measured].map(([peer, found]) => figuresOf(peer, found))
}

async function measure(peer: Peer, { values, problems }: Measured): Promise<void> {
  await runOnPeer(peer, 'judge.peers.bench', (line) => {
    const { figure, value, problem } = line as Line
    console.log(`  ${figure}: ${value === null ? (problem ?? 'no way') : value.toFixed(1)}`)
    if (value !== null) values.set(figure, [...(values.get(figure) ?? []), value])
    else if (problem !== undefined) problems.set(figure, problem)
  })
}

function figuresOf(peer: Peer, { values, problems }: Measured): PeerFigures {
  // One incomplete round is no figure.
  const complete = [...values].filter(([figure]) => !problems.has(figure))
  const figures = new Map(complete.map(([figure, all]) => [figure, median(all)]))
  return { title: peer.title, versions: peer.versions(), figures, problems }
}
