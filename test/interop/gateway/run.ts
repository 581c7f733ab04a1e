/** `npm run interop:gateway`: faults in front of real servers, directly and through the gateway. Writes docs/comparison/gateway.md. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freePort } from '../../support/free-port.ts'
import { root, Served } from '../served.ts'
import { Tally } from '../tally.ts'
import { type Cell, type Fault, faults, startWarm } from './faults.ts'
import { startModelServer } from './model-server.ts'
import { oddStreams, readOdd, startOddServer } from './odd-streams.ts'
import { flagsOf, followPage } from './page.ts'
import { runReconnectScripts, SCRIPTS_PORT, waitForPort } from './reconnect.ts'
import { HERMES_KEY, pythonOf, type Upstream, upstreamsOn } from './upstreams.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    fault: { type: 'string', default: '' },
    /** Only the judged part, for CI. */
    through: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})

interface Row {
  readonly fault: string
  readonly upstream: string
  readonly direct: Cell
  readonly through: Cell
}

/** The name of the server with odd streams. */
const ODD = 'odd streams'
/** What is tried besides faults, for `--fault`. */
const RECONNECT = 'reconnect scripts'
const PAGE = 'the commands of docs/gateway.md'
const NOT_TRIED: Cell = { text: 'not tried' }

const tally = new Tally()
const folder = mkdtempSync(join(tmpdir(), 'holdfast-interop-gateway-'))
const model = await startModelServer(await freePort())
const ports = {
  agno: await freePort(),
  bare: await freePort(),
  agno2: await freePort(),
  bare2: await freePort(),
  fasta2a: await freePort(),
  hermes: await freePort(),
}
const all = upstreamsOn(ports, model.url, folder)
const isChosen = (name: string): boolean => values.only?.includes(name) ?? true
const chosen = all.filter(({ name }) => isChosen(name))
process.env['HOLDFAST_UPSTREAM_KEY_OPENAI'] = HERMES_KEY
const rows: Row[] = []
try {
  for (const upstream of chosen) await tried(upstream)
  if (isChosen(ODD)) await triedOdd()
  if (values.write && !values.through) writeFileSync(join(root, 'docs/comparison/gateway.md'), page(rows))
} finally {
  model.close()
  await Promise.all(all.map((upstream) => upstream.kill()))
  rmSync(folder, { recursive: true, force: true })
}
// Connections of streams that never end keep nothing alive.
process.exit(tally.report('gateway'))

async function gatewayTo({ protocol, url }: Pick<Upstream, 'protocol' | 'url'>, at?: number): Promise<Served> {
  const port = at ?? (await freePort())
  const store = `sqlite:${join(folder, `${protocol}-${port}.db`)}`
  const main = join(root, 'src/cli/main.ts')
  const flags = [...flagsOf({ protocol, url }), '--upstream-idle-timeout', '5s']
  const gateway = new Served(port, ['node', main, 'gateway', ...flags, '--port', String(port), '--store', store])
  await gateway.start()
  return gateway
}

function isWanted(upstream: Upstream, { title, isOf = () => true, isSlow = false }: Fault): boolean {
  return isOf(upstream) && title.includes(values.fault) && !(isSlow && values.through)
}

function found(row: Row): void {
  const { fault, upstream, direct, through } = row
  rows.push(row)
  tally.add(`${upstream}: ${fault}: ${direct.text} → ${through.text}`, through.problem)
}

async function tried(upstream: Upstream): Promise<void> {
  await startWarm(upstream)
  const gateway = await gatewayTo(upstream)
  try {
    for (const fault of faults.filter((each) => isWanted(upstream, each))) {
      const direct = values.through ? NOT_TRIED : await fault.direct(upstream).catch(failed)
      const through = await fault.through(upstream, gateway).catch(failed)
      found({ fault: fault.title, upstream: upstream.name, direct, through })
    }
    if (PAGE.includes(values.fault))
      await tally.check(`${upstream.name}: ${PAGE}`, () => followPage(upstream, gateway.url))
    if (upstream.protocol === 'agentos' && RECONNECT.includes(values.fault)) await reconnected(upstream)
  } finally {
    await gateway.kill()
    await upstream.kill()
  }
}

async function reconnected(upstream: Upstream): Promise<void> {
  await waitForPort()
  const gateway = await gatewayTo(upstream, SCRIPTS_PORT)
  try {
    await runReconnectScripts(await pythonOf('agno'), upstream.name, tally)
  } finally {
    await gateway.kill()
  }
}

async function triedOdd(): Promise<void> {
  const odd = await startOddServer(await freePort())
  const gateway = await gatewayTo({ protocol: 'openai', url: odd.url })
  try {
    for (const [number, { title }] of oddStreams.entries()) {
      if (!title.includes(values.fault)) continue
      const direct = values.through ? NOT_TRIED : await readOdd(odd.url, number).catch(failed)
      const through = await readOdd(`${gateway.url}/v1`, number).catch(failed)
      found({ fault: title, upstream: ODD, direct, through })
    }
  } finally {
    await gateway.kill()
    odd.close()
  }
}

function failed(cause: unknown): Cell {
  return { text: `could not be tried: ${String(cause)}`, problem: String(cause) }
}

/** Without ids, which differ between runs. */
function shown({ text }: Cell): string {
  return text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '…')
}

function page(table: readonly Row[]): string {
  const names = [...new Set(table.map(({ upstream }) => upstream))]
  const sections = names.map((name) => {
    const lines = table
      .filter(({ upstream }) => upstream === name)
      .map(({ fault, direct, through }) => `| ${fault} | ${shown(direct)} | ${shown(through)} |`)
    return `## ${name}\n\n| fault | direct | through Holdfast |\n| --- | --- | --- |\n${lines.join('\n')}\n`
  })
  return `# Faults, directly and through the gateway

<!-- Written by npm run interop:gateway -- --write. -->

What a client sees of real servers on a scripted model when something breaks, and what it sees through [the gateway](../gateway.md): agno 3.1.10 and 2.9.0,
FastA2A 2.1.1 with pydantic-ai, hermes-agent 0.19.0. Clients speak the server's own protocol. An upstream that is silent for 5 seconds counts as hanging here.
A whole answer has 40 words. A viewer of FastA2A after the end uses \`GetTask\`: A2A 1.0 has no stream of a finished task. *Odd streams* are those of an
OpenAI-compatible server, as the official client reads them; a whole answer is \`w0 w1 🦊\`.

${sections.join('\n')}`
}
