/** docs/tutorial.md, typed into terminals block by block: every command succeeds and every program runs. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { freePort } from '../support/free-port.ts'
import { startPostgres } from '../support/postgres.ts'
import { BLOCK_MS, isHealthy, projectFolder, readerEnvironment, Terminal } from '../support/doc-terminal.ts'
import { until } from '../support/until.ts'

const root = join(import.meta.dirname, '../..')
const page = readFileSync(join(root, 'docs/tutorial.md'), 'utf8')
const DOCUMENTED_STORE = 'postgres://user:password@localhost:5432/app'

const postgres = await startPostgres()

interface Block {
  readonly language: string
  readonly where: string
  readonly code: string
}

function blocks(): Block[] {
  return [...page.matchAll(/^```(\w+)\n(?:#|\/\/) (.*)\n([^]*?)^```/gm)].map(([, language, where, code]) => ({
    language: language!,
    where: where!,
    code: code!,
  }))
}

test('every block of docs/tutorial.md names the file or terminal it belongs to', () => {
  expect(blocks()).toHaveLength(page.match(/^```\w+$/gm)!.length)
  for (const { language, where } of blocks())
    expect(where).toMatch(language === 'sh' ? /^terminal [123](, until Ctrl-C)?$/ : /^\w+\.ts$/)
})

test('the commands and programs of docs/tutorial.md work in their order', { timeout: 600_000 }, async () => {
  const { folder, path } = projectFolder()
  const ports: Record<string, number> = { '7777': await freePort(), '7778': await freePort() }
  const env = readerEnvironment(path, ports['7777']!)
  const adapted = (text: string): string =>
    text.replaceAll(DOCUMENTED_STORE, postgres.url).replaceAll(/\b777[78]\b/g, (port) => String(ports[port]))

  const reader = new Terminal(folder, env)
  const servers = new Map<string, Terminal>()
  const printed: string[] = []
  for (const { language, where, code } of blocks()) {
    if (language === 'ts') {
      writeFileSync(join(folder, where), adapted(code))
    } else if (where.includes('until Ctrl-C')) {
      printed.push(
        await reader.run(adapted(code.replace('curl -N', 'curl -sN --max-time 2')).trim() + ' || [ $? = 28 ]'),
      )
    } else if (where === 'terminal 2') {
      const pid = /It is process (\d+)/.exec(servers.get('terminal 1')?.output ?? '')?.[1] ?? 'PID'
      printed.push(await reader.run(adapted(code.replace('kill -9 PID', `kill -9 ${pid}`))))
    } else {
      await servers.get(where)?.close()
      const terminal = new Terminal(folder, env)
      servers.set(where, terminal)
      terminal.type(adapted(code))
      const port = ports[where === 'terminal 1' ? '7777' : '7778']!
      await until(`${where} serves`, () => isHealthy(port), { withinMs: BLOCK_MS }).catch((cause: unknown) => {
        throw new Error(`${where} did not serve:\n${terminal.output}`, { cause })
      })
    }
  }

  const spoken = printed.join('\n')
  expect(spoken.match(/event: text\.delta/g)!.length).toBeGreaterThan(2)
  const countdowns = spoken.match(/^(?:\d+ )+Lift-off!$/gm)!.map((line) => line.split(' '))
  expect(countdowns).toHaveLength(2)
  for (const numbers of countdowns) {
    const from = Number(numbers[0])
    expect(from).toBeGreaterThanOrEqual(50)
    expect(numbers).toEqual([...Array.from({ length: from }, (_, index) => String(from - index)), 'Lift-off!'])
  }
  expect(spoken.match(/I have paid 25\./g)!.length).toBeGreaterThanOrEqual(2)
  expect(spoken).toContain('401\n200\n')
  expect(spoken).toContain('verified')
  expect(spoken).toContain('No problems found.')
  for (const terminal of servers.values()) await terminal.close()
})
