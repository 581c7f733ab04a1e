/** Generates docs/comparison/faults.md from the judge's verdicts. */
export interface Verdict {
  readonly fault: string
  readonly verdict: 'ok' | 'honest' | 'lost' | 'doubled' | 'lied' | 'hung'
  readonly words: number
  /** The message for the client. */
  readonly said: string
  /** Whether the server still responded afterwards. */
  readonly survived: boolean
}

export interface PeerVerdicts {
  readonly name: string
  readonly title: string
  readonly versions: string
  readonly verdicts: readonly Verdict[]
}

const WORDS = 40

export function cellOf({ verdict, words, said, survived }: Verdict): string {
  const died = survived ? '' : '; the server died'
  return `${textOf(verdict, words, said)}${died}`
}

function textOf(verdict: Verdict['verdict'], words: number, said: string): string {
  switch (verdict) {
    case 'ok':
      return 'whole'
    case 'honest':
      return `${words} words, then a failure that is reported`
    case 'lied':
      return `**${words} words, reported as complete**`
    case 'doubled':
      return '**words twice**'
    case 'hung':
      return `**${words} words, then no end**`
    case 'lost':
      return `**${words} words** (${said})`
  }
}

/** `about`: date and machine. */
export function pageOf(peers: readonly PeerVerdicts[], about: string): string {
  const faults = [...new Set(peers.flatMap(({ verdicts }) => verdicts.map(({ fault }) => fault)))]
  const sections = faults.map((fault) => {
    const rows = peers.map(({ title, verdicts }) => {
      const found = verdicts.find((verdict) => verdict.fault === fault)
      return `| ${title} | ${found === undefined ? 'not tried' : cellOf(found)} |`
    })
    return [
      `## ${titleOf(fault)}`,
      '',
      '| server | what the client has in the end |',
      '| --- | --- |',
      ...rows,
      '',
    ].join('\n')
  })
  const versions = peers.map(({ title, versions: of }) => `| ${title} | ${of} |`)
  return `# What a client sees when something breaks

<!-- Written by npm run judge -- --target all --write -->

Every server streams the same ${WORDS} words of one scripted model, one every 100 ms. The judge (\`judge/peers\`) speaks plain HTTP to each of them as its own
documentation tells clients to, breaks something, returns as documented, and looks at what is on the screen in the end. *Whole* means every word
once and the true end. Bold cells are answers that a user would take for something else than what happened, or cannot get at all.
${about}

${sections.join('\n')}
## Versions

| server | packages |
| --- | --- |
${versions.join('\n')}

Each peer runs as its documentation starts it; \`judge/peers/programs\` and \`scripts/judge-peers.ts\` have the programs and settings. Where a server has more
than one mode, the one that its documentation recommends for reconnecting clients is used. Try one with \`npm run judge -- --target NAME\`.
`
}

function titleOf(fault: string): string {
  return fault === 'none' ? 'Nothing breaks' : `${fault[0]!.toUpperCase()}${fault.slice(1)}`
}
