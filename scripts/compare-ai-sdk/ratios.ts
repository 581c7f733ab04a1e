/** How many times better Holdfast is than the route with Redis, and how many times it should be. */
import type { PeerFigures } from '../bench-peers-page.ts'

interface Ratio {
  readonly title: string
  readonly figure: string
  readonly best: 'most' | 'least'
}

const WANTED = 3

const RATIOS: readonly Ratio[] = [
  { title: 'deliveries per CPU-second at 100 runs', figure: 'words_per_cpu_second', best: 'most' },
  { title: 'catch-up on 10,000 parts of a run that goes on, in CPU time', figure: 'late_viewer_ms', best: 'least' },
]

export function ratioTable(measured: readonly PeerFigures[]): string {
  const own = measured.find(({ title }) => title.startsWith('Holdfast'))
  const other = measured.find((peer) => peer !== own)
  const rows = RATIOS.map(({ title, figure, best }) => {
    const values = [own?.figures.get(figure), other?.figures.get(figure)]
    const [a, b] = best === 'most' ? values : values.toReversed()
    if (typeof a !== 'number' || typeof b !== 'number') return `| ${title} | not measured | ${WANTED} | no |`
    return `| ${title} | ${(a / b).toFixed(2)} | ${WANTED} | ${a / b >= WANTED ? 'yes' : 'no'} |`
  })
  return ['| Holdfast against Redis | times | wanted | met |', '|---|---:|---:|---|', ...rows].join('\n')
}
