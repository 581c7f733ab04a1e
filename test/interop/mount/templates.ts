/** The projects of `holdfast new` that need heavy packages: each is written, type-checked, started and asked. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createClient } from '../../../src/client/index.ts'
import { freePort } from '../../support/free-port.ts'
import type { Tally } from '../tally.ts'
import { AppServer } from './app-server.ts'
import { removeApp, run } from './project.ts'

const STEP_MS = 3 * 60_000

export async function checkTemplates(project: string, tally: Tally): Promise<void> {
  await tally.check(
    'holdfast new --template next: it type-checks, and next dev serves its page and its agent',
    async () => {
      const app = await create(project, 'next')
      const port = await freePort()
      await ask(app, port, [join(project, 'node_modules/next/dist/bin/next'), 'dev', '--port', String(port)])
    },
  )
  await tally.check(
    'holdfast new --template react: it type-checks and builds, and its server has its page and its agent',
    async () => {
      const app = await create(project, 'react')
      await run('node', [join(project, 'node_modules/vite/bin/vite.js'), 'build'], app, STEP_MS)
      await ask(app, await freePort(), ['server.ts'])
    },
  )
}

/** Its packages are those of the project around it. */
async function create(project: string, template: string): Promise<string> {
  const app = removeApp(project, `template-${template}`)
  await run(
    'node',
    [join(project, 'node_modules/holdfast/dist/cli/main.js'), 'new', app, '--template', template],
    project,
    STEP_MS,
  )
  const wanted = dependenciesOf(app)
  const missing = Object.keys(wanted).filter((name) => !(name in dependenciesOf(project)) && name !== 'holdfast')
  if (missing.length > 0) throw new Error(`test/interop/mount/package.json lacks ${missing.join(', ')}`)
  await run('node', [join(project, 'node_modules/typescript/lib/tsc.js')], app, STEP_MS)
  return app
}

function dependenciesOf(folder: string): Readonly<Record<string, string>> {
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Readonly<
    Record<'dependencies' | 'devDependencies', Record<string, string>>
  >
  return { ...manifest.dependencies, ...manifest.devDependencies }
}

async function ask(app: string, port: number, program: readonly string[]): Promise<void> {
  const server = new AppServer(app, program, { PORT: String(port) })
  try {
    const { runs } = createClient({ url: `http://127.0.0.1:${port}/api/agents` })
    const started = await runs.start({ component: 'assistant', input: 'What time is it in Asia/Tokyo?' })
    const output = await started.result()
    if (!/^It is \d\d:\d\d in Asia\/Tokyo\.$/.test(String(output)))
      throw new Error(`the agent answered ${String(output)}`)
    const page = await (await fetch(`http://127.0.0.1:${port}/`)).text()
    if (!page.includes('<html')) throw new Error(`no page: ${page.slice(0, 500)}`)
  } catch (cause) {
    throw new Error(`${String(cause)}\n${server.output}`, { cause })
  } finally {
    await server.kill()
  }
}
