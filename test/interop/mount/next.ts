/** Next.js: the example is built and killed, and its development server reloads an agent while a run streams. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '../../../src/client/index.ts'
import { freePort } from '../../support/free-port.ts'
import { until } from '../../support/until.ts'
import { root } from '../served.ts'
import type { Tally } from '../tally.ts'
import { AppServer } from './app-server.ts'
import { copyApp, run } from './project.ts'

const BUILD_MS = 5 * 60_000
const EXAMPLE_MS = 3 * 60_000

export async function checkNext(project: string, tally: Tally): Promise<void> {
  const app = copyApp(project, 'examples/next', 'next-app')
  const next = join(project, 'node_modules/next/dist/bin/next')
  await tally.check('Next.js: next build needs no configuration', async () => {
    await run('node', [next, 'build'], app, BUILD_MS)
  })
  await tally.check('Next.js: next start is killed during a run, and the stream has every event once', () =>
    acrossKill(app, next),
  )
  await tally.check('Next.js: next dev serves an edited agent while a run of the old one streams', () =>
    editWhileRunning(app, next),
  )
}

async function acrossKill(app: string, next: string): Promise<void> {
  const flags = ['--conditions=holdfast-source', '--no-warnings']
  const main = join(root, 'examples/next/main.ts')
  const output = await run('node', [...flags, main, String(await freePort()), app, next], root, EXAMPLE_MS)
  if (!/\nkilled\n[^]*\n\d+ events, each once\n$/.test(output))
    throw new Error(`unexpected output:\n${output.slice(-2000)}`)
}

async function editWhileRunning(app: string, next: string): Promise<void> {
  const port = await freePort()
  const file = join(app, 'agents.ts')
  const server = new AppServer(app, [next, 'dev', '--port', String(port)])
  try {
    const { runs } = createClient({ url: `http://127.0.0.1:${port}/api/agents` })
    const old = await runs.start({ component: 'counter', input: 'old' })
    let text = ''
    let isEdited = false
    for await (const piece of old.text()) {
      text += piece
      if (isEdited) continue
      isEdited = true
      writeFileSync(file, readFileSync(file, 'utf8').replace('of ${goal}', 'out of ${goal}'))
      await until('the next run has the new code', async () =>
        firstText(await runs.start({ component: 'counter', input: 'new' })).then((first) =>
          first.startsWith('new 1 out of '),
        ),
      )
    }
    const goal = Number(/ of (\d+)/.exec(text)?.[1])
    const expected = Array.from({ length: goal }, (_, index) => `old ${index + 1} of ${goal}\n`).join('')
    if (text !== expected) throw new Error(`the run that was streaming changed:\n${text}`)
    if (/EADDRINUSE|is in use|locked|failed to start/i.test(server.output)) throw new Error(server.output)
  } finally {
    await server.kill()
  }
}

async function firstText(started: { text(): AsyncIterable<string> }): Promise<string> {
  for await (const piece of started.text()) return piece
  return ''
}
