/** Generates docs/comparison/speed.md and its plots from the measurements of the peers. */
export interface PeerFigures {
  readonly title: string
  readonly versions: string
  /** Medians of the rounds; null if the server cannot do it, or a client did not get every word. */
  readonly figures: ReadonlyMap<string, number | null>
  readonly problems: ReadonlyMap<string, string>
}

interface Column {
  readonly figure: string
  readonly title: string
  readonly unit: string
  readonly best: 'most' | 'least'
}

export const COLUMNS: readonly Column[] = [
  { figure: 'words_per_cpu_second', title: '100 runs at once', unit: 'words per CPU-second', best: 'most' },
  {
    figure: 'long_run_words_per_cpu_second',
    title: 'one run of 10,000 words',
    unit: 'words per CPU-second',
    best: 'most',
  },
  { figure: 'fan_out_words_per_cpu_second', title: 'one run, 50 viewers', unit: 'words per CPU-second', best: 'most' },
  { figure: 'catch_up_ms', title: 'reading 10,000 words again', unit: 'ms of CPU', best: 'least' },
  { figure: 'late_viewer_ms', title: 'joining a run after 10,000 words', unit: 'ms of CPU', best: 'least' },
  { figure: 'first_word_ms', title: 'first word', unit: 'ms', best: 'least' },
  { figure: 'idle_viewer_kb', title: 'a silent run with a viewer', unit: 'KiB', best: 'least' },
  { figure: 'start_ms', title: 'start of the server', unit: 'ms', best: 'least' },
  { figure: 'memory_mb', title: 'memory after all this', unit: 'MiB', best: 'least' },
]
const PLOTTED = ['words_per_cpu_second', 'fan_out_words_per_cpu_second', 'catch_up_ms']

function cell(peer: PeerFigures, figure: string): string {
  const value = peer.figures.get(figure)
  if (typeof value === 'number') return value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(2)
  return peer.problems.has(figure) ? 'incomplete' : '–'
}

/** The table of figures, with a mark for incomplete ones. */
export function speedTable(peers: readonly PeerFigures[]): string {
  const head = COLUMNS.map(({ title, unit }) => `${title} (${unit})`)
  const rows = peers.map(
    (peer) => `| ${[peer.title, ...COLUMNS.map(({ figure }) => cell(peer, figure))].join(' | ')} |`,
  )
  const problems = peers.flatMap(({ title, problems: of }) =>
    [...of].map(([figure, problem]) => `- ${title}, ${titleOf(figure)}: ${problem}.`),
  )
  return `| server | ${head.join(' | ')} |
| --- |${COLUMNS.map(() => ' ---: |').join('')}
${rows.join('\n')}

– means that the server has no way to do it. *Incomplete* means that a client did not get every word:

${problems.length === 0 ? '- none.' : problems.join('\n')}`
}

export function speedPage(peers: readonly PeerFigures[], about: string): string {
  const plotted = COLUMNS.filter(({ figure }) => PLOTTED.includes(figure))
  return `# What a word costs

<!-- Written by npm run bench:peers -- --write -->

Every server streams words of the same scripted model to the same client, which checks that it gets each of them. CPU is that of all processes of the
server, Redis included. Holdfast stores and syncs every event; the column of each server's own storage is in [faults.md](faults.md). ${about}

${speedTable(peers)}

${plotted.map(({ figure, title, unit }) => `![${title}, ${unit}](speed-${figure}.svg)`).join('\n\n')}

\`npm run bench:peers\` measures again; \`judge/peers/bench.py\` says what each figure is. The client is written in Python and the model shares its process, so
that absolute times are long: compare rows, not figures of other pages.
`
}

function titleOf(wanted: string): string {
  return COLUMNS.find(({ figure }) => figure === wanted)?.title ?? wanted
}

export function plots(peers: readonly PeerFigures[]): Map<string, string> {
  return new Map(
    COLUMNS.filter(({ figure }) => PLOTTED.includes(figure)).map((column) => [
      `speed-${column.figure}.svg`,
      plot(column, peers),
    ]),
  )
}

const [WIDTH, LABEL, ROW] = [760, 260, 24]

/** Bars, readable in light and dark pages. */
function plot({ figure, title, unit, best }: Column, peers: readonly PeerFigures[]): string {
  const measured = peers.flatMap((peer) => {
    const value = peer.figures.get(figure)
    return typeof value === 'number' ? [{ title: peer.title, value }] : []
  })
  const sorted = measured.toSorted((a, b) => (best === 'most' ? b.value - a.value : a.value - b.value))
  const most = Math.max(...sorted.map(({ value }) => value), Number.MIN_VALUE)
  const bars = sorted.map(({ title: name, value }, row) => {
    const [y, width] = [40 + row * ROW, Math.max(1, (value / most) * (WIDTH - LABEL - 90))]
    const color = name.startsWith('Holdfast') ? '#0b7285' : '#868e96'
    const label = value >= 100 ? Math.round(value).toLocaleString('en-US') : value.toPrecision(2)
    return [
      `<text x="${LABEL - 8}" y="${y + 15}" text-anchor="end">${escape(name)}</text>`,
      `<rect x="${LABEL}" y="${y}" width="${width.toFixed(1)}" height="${ROW - 6}" rx="3" fill="${color}"/>`,
      `<text x="${(LABEL + width + 6).toFixed(1)}" y="${y + 15}">${label}</text>`,
    ].join('')
  })
  const height = 50 + sorted.length * ROW
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${height}" font-family="sans-serif" font-size="13" fill="#868e96">
<text x="8" y="22" font-size="15" font-weight="bold">${escape(`${title} (${unit}, ${best} is best)`)}</text>
${bars.join('\n')}
</svg>
`
}

function escape(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
}
