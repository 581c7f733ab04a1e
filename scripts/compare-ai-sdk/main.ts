/**
 * `npm run compare:ai-sdk [-- --figures --write]`: the same faults with both servers. `--figures` also measures both, as `npm run bench:peers` does, and
 * prints how many times better Holdfast is. `--write` writes docs/comparison/ai-sdk.md.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { loadavg } from 'node:os'
import { describeMachine } from '../../bench/machine.ts'
import { speedTable } from '../bench-peers-page.ts'
import { root } from '../command.ts'
import { peers } from '../judge-peers.ts'
import { measurePeers } from '../measure-peers.ts'
import { faults } from './faults.ts'
import { ratioTable } from './ratios.ts'
import { startModel } from './scripted-model.ts'
import { sides, startServer } from './servers.ts'

const ROUNDS = 3
const MEASURED = ['holdfast-ai-sdk', 'resumable-stream']

const { values } = parseArgs({
  options: { figures: { type: 'boolean', default: false }, write: { type: 'boolean', default: false } },
})
const seen = new Map(Object.keys(faults).map((fault) => [fault, new Map<string, readonly string[]>()]))
for (const side of sides) {
  const model = await startModel()
  const server = await startServer(side, model.url)
  try {
    for (const [name, fault] of Object.entries(faults)) {
      const found = await fault({ side, server, model })
      seen.get(name)!.set(side.title, found)
      console.log(`${side.title}: ${name}: ${found.join(' | ')}`)
    }
  } finally {
    await server.close()
    model.close()
  }
}
const figures = values.figures ? await figuresOf() : ''
if (values.write) writeFileSync(join(root, 'docs/comparison/ai-sdk.md'), pageOf())
process.exit()

async function figuresOf(): Promise<string> {
  const load = loadavg()[0]!.toFixed(1)
  const measured = peers.filter(({ name }) => MEASURED.includes(name))
  const rounds = await measurePeers(measured, ROUNDS)
  const table = speedTable(rounds)
  const ratios = ratioTable(rounds)
  console.log(`${table}\n\n${ratios}`)
  return `## What a word costs

Medians of ${ROUNDS} rounds in turn, at a load of ${load}. CPU is that of all processes of a server, Redis included. Holdfast stores and syncs every event.

${table}

${ratios}

`
}

function pageOf(): string {
  const sections = [...seen].map(([fault, bySide]) => {
    const rows = sides.map(({ title }) => `| ${title} | ${bySide.get(title)!.join(' | ')} |`)
    const heading = `${fault[0]!.toUpperCase()}${fault.slice(1)}`
    return [`## ${heading}`, '', '| | on the page | after a reload |', '|---|---|---|', ...rows, ''].join('\n')
  })
  return `# \`useChat\` with resumable-stream on Redis, and with Holdfast

<!-- Written by npm run compare:ai-sdk -- --write -->

What a user sees when something breaks. The client is the same: the chat of the AI SDK with \`DefaultChatTransport\`, which resumes after a reload. The
servers have the same model, which streams a word every 100 ms, and the same tool. One is a route as the AI SDK's guide to resuming streams has
it, with messages and stream ids in Redis (\`judge/peers/programs/resumable-stream.mjs\`). The other is \`holdfast serve\` with an agent
(\`judge/peers/holdfast-chat-agent.mjs\`). Bold: the user takes it for something else than what happened, or there is no end.
Measured on ${new Date().toISOString().slice(0, 10)}, ${describeMachine()}.

${sections.join('\n')}
The guide has no endpoint that stops a stream: an application builds it. Holdfast has \`POST /ai/{component}/chat/{chat}/stop\`
([protocols/ai-sdk.md](../protocols/ai-sdk.md)).

${figures}## Versions

| | packages |
|---|---|
${sides.map(({ title, versions }) => `| ${title} | ${versions()} |`).join('\n')}

Faults of more servers: [faults.md](faults.md).
`
}
