/** `npm run interop:gateway`: faults in front of real servers, directly and through the gateway. Writes docs/comparison/gateway.md. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { freePort } from '../../support/free-port.ts'
import { root, Served } from '../served.ts'
import { Tally } from '../tally.ts'
import { type Cell, type Fault, faults } from './faults.ts'
import { startModelServer } from './model-server.ts'
import { HERMES_KEY, type Upstream, upstreamsOn } from './upstreams.ts'

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    fault: { type: 'string', default: '' },
    /** Only what is judged, for CI. */
    through: { type: 'boolean', default: false },
    write: { type: 'boolean', default: false },
  },
})

interface Row {
  readonly fault: Fault
  readonly upstream: Upstream
  readonly direct: Cell
  readonly through: Cell
}

const tally = new Tally()
const folder = mkdtempSync(join(tmpdir(), 'holdfast-interop-gateway-'))
const model = await startModelServer(await freePort())
const ports = { agno: await freePort(), bare: await freePort(), fasta2a: await freePort(), hermes: await freePort() }
const all = upstreamsOn(ports, model.url, folder)
const chosen = all.filter(({ name }) => values.only === undefined || name === values.only)
process.env['HOLDFAST_UPSTREAM_KEY_OPENAI'] = HERMES_KEY
const rows: Row[] = []
try {
  for (const upstream of chosen) await tried(upstream)
  if (values.write && !values.through) writeFileSync(join(root, 'docs/comparison/gateway.md'), page(rows))
} finally {
  model.close()
  await Promise.all(all.map((upstream) => upstream.kill()))
  rmSync(folder, { recursive: true, force: true })
}
// Connections of streams that never end keep nothing alive.
process.exit(tally.report('gateway'))

async function tried(upstream: Upstream): Promise<void> {
  await upstream.start()
  const port = await freePort()
  const store = `sqlite:${join(folder, `${upstream.protocol}-${port}.db`)}`
  const main = join(root, 'src/cli/main.ts')
  const flags = ['--upstream', `${upstream.protocol}=${upstream.url}`, '--upstream-idle-timeout', '5s']
  const gateway = new Served(port, ['node', main, 'gateway', ...flags, '--port', String(port), '--store', store])
  await gateway.start()
  try {
    for (const fault of faults.filter(({ title }) => title.includes(values.fault))) {
      const direct = values.through ? { text: 'not tried' } : await fault.direct(upstream).catch(failed)
      const through = await fault.through(upstream, gateway).catch(failed)
      rows.push({ fault, upstream, direct, through })
      tally.add(`${upstream.name}: ${fault.title}: ${direct.text} → ${through.text}`, through.problem)
    }
  } finally {
    await gateway.kill()
    await upstream.kill()
  }
}

function failed(cause: unknown): Cell {
  return { text: `could not be tried: ${String(cause)}`, problem: String(cause) }
}

/** Without ids, which differ between runs. */
function shown({ text }: Cell): string {
  return text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, '…')
}

function page(found: readonly Row[]): string {
  const names = [...new Set(found.map(({ upstream }) => upstream.name))]
  const sections = names.map((name) => {
    const lines = found
      .filter(({ upstream }) => upstream.name === name)
      .map(({ fault, direct, through }) => `| ${fault.title} | ${shown(direct)} | ${shown(through)} |`)
    return `## ${name}\n\n| fault | direct | through Holdfast |\n| --- | --- | --- |\n${lines.join('\n')}\n`
  })
  return `# Faults, directly and through the gateway

<!-- Written by npm run interop:gateway -- --write. -->

What a client sees of real servers on a scripted model when something breaks, and what it sees through [the gateway](../gateway.md): agno 3.1.10, FastA2A 2.1.1
with pydantic-ai, hermes-agent 0.19.0. Clients speak the server's own protocol. An upstream that is silent for 5 seconds counts as hanging here.
A whole answer has 40 words.

${sections.join('\n')}`
}
