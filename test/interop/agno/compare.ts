/** `npm run compare:agno`: the same faults with agno's server and with ours, reported by one client. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ensurePython } from '../../support/python.ts'
import { drive } from './python.ts'
import { freePort } from '../../support/free-port.ts'
import { npmStart, root, Served } from '../served.ts'

interface Observation {
  readonly scene: string
  readonly label: string
  readonly value: string
}

const OBSERVE_MS = 240_000
const PAGE = 'docs/comparison/agno.md'
const TABLE = /(?<=<!-- table -->\n)[^]*(?=<!-- end of table -->)/

const { values } = parseArgs({ options: { write: { type: 'boolean', default: false } } })
const folder = mkdtempSync(join(tmpdir(), 'holdfast-compare-agno-'))
try {
  const columns = new Map<string, readonly Observation[]>()
  for (const requirements of ['agno-2.txt', 'agno-3.txt']) {
    const [name, python] = await pythonOf(requirements)
    const port = await freePort()
    const server = new Served(port, [
      'env',
      'PYTHONDONTWRITEBYTECODE=1',
      `PYTHONPATH=${import.meta.dirname}:${join(root, 'test/support/agno')}`,
      python,
      '-m',
      'compare.lab',
      String(port),
      join(folder, `${name}.db`),
    ])
    columns.set(name, await observe(name, python, server))
  }
  const [, python] = await pythonOf('agno-3.txt')
  const holdfast = npmStart(await freePort(), join(folder, 'holdfast.db'))
  columns.set('Holdfast', await observe('Holdfast', python, holdfast, 'lab-resume'))
  publish(tableOf(columns))
} finally {
  rmSync(folder, { recursive: true, force: true })
}

/** The name and version, and the interpreter that has it. */
async function pythonOf(requirements: string): Promise<readonly [string, string]> {
  const file = join(import.meta.dirname, requirements)
  const version = /^agno==(.+)$/m.exec(readFileSync(file, 'utf8'))![1]!
  return [`agno ${version}`, await ensurePython(file)]
}

async function observe(name: string, python: string, server: Served, resuming?: string): Promise<Observation[]> {
  const seen: Observation[] = []
  await server.start()
  try {
    const args = [
      '-m',
      'compare.observe',
      server.url,
      String(server.pid),
      ...(resuming === undefined ? [] : [resuming]),
    ]
    const problem = await drive({ python, args, server, timeoutMs: OBSERVE_MS }, (line) => {
      const observation = line as Observation
      console.error(`${name}: ${observation.scene}: ${observation.label}: ${observation.value}`)
      seen.push(observation)
    })
    if (problem !== undefined) throw new Error(`${name} was not observed to the end: ${problem}`)
  } finally {
    await server.kill()
  }
  return seen
}

function tableOf(columns: ReadonlyMap<string, readonly Observation[]>): string {
  const names = [...columns.keys()]
  const all = [...columns.values()].flat()
  const scenes = [...new Set(all.map(({ scene }) => scene))]
  const lines = scenes.flatMap((scene) => [
    `| **${scene}** |${' |'.repeat(names.length)}`,
    ...[...new Set(all.filter((line) => line.scene === scene).map(({ label }) => label))].map((label) => {
      const cells = names.map((name) => cellOf(columns.get(name)!, scene, label))
      return `| ${label} | ${cells.join(' | ')} |`
    }),
  ])
  return `\n| | ${names.join(' | ')} |\n|---${'|---'.repeat(names.length)}|\n${lines.join('\n')}\n\n`
}

function cellOf(seen: readonly Observation[], scene: string, label: string): string {
  const found = seen.find((line) => line.scene === scene && line.label === label)
  return found?.value.replaceAll('|', '\\|').replaceAll('\n', ' ') ?? ''
}

function publish(table: string): void {
  if (!values.write) return console.log(table)
  const page = join(root, PAGE)
  writeFileSync(
    page,
    readFileSync(page, 'utf8').replace(TABLE, () => table),
  )
}
