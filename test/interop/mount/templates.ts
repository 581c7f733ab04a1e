/**
 * The projects of `holdfast new` that need heavy packages, as their user has them: installed from the packed package, type-checked,
 * built, started with `npm start`, and killed while their page shows an answer.
 */
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Page } from 'playwright-core'
import { createClient } from '../../../src/client/index.ts'
import { launchChromium } from '../../browser/chromium.ts'
import { freePort } from '../../support/free-port.ts'
import { installPacked, npm, toolsEnv } from '../../support/packed-package.ts'
import { until } from '../../support/until.ts'
import type { Tally } from '../tally.ts'
import { AppServer } from './app-server.ts'

const WITHIN_MS = 2 * 60_000

/** The program behind `npm start`, whose processes npm would leave running. */
const START = { next: ['node_modules/next/dist/bin/next', 'start'], react: ['server.ts'] } as const
type Template = keyof typeof START

export async function checkTemplates(tally: Tally): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-templates-'))
  try {
    const program = await installPacked(folder)
    for (const template of ['next', 'react'] as const) await checkTemplate(template, folder, program, tally)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function checkTemplate(template: Template, folder: string, program: string, tally: Tally): Promise<void> {
  const app = join(folder, `my-${template}-app`)
  const title = `holdfast new --template ${template}`
  await tally.check(`${title}: installs from the packed package, type-checks and builds`, async () => {
    const [node, flags] = [process.execPath, ['new', app, '--template', template]]
    await promisify(execFile)(node, [program, ...flags], { cwd: folder, env: toolsEnv })
    slowDown(join(app, 'agents.ts'))
    await npm(app, 'install', '--prefer-offline', '--no-audit', '--no-fund')
    await npm(app, 'run', 'check')
    await npm(app, 'run', 'build')
  })
  await tally.check(`${title}: its page in Chromium shows the whole answer after kill -9 and a restart`, () =>
    askAcrossKill(app, START[template]),
  )
}

/** So that the server is killed during the answer, however busy the machine is. */
function slowDown(file: string): void {
  const text = readFileSync(file, 'utf8')
  const slow = text.replace('wordsPerSecond: 10', 'wordsPerSecond: 0.5')
  if (slow === text) throw new Error(`${file} has no wordsPerSecond`)
  writeFileSync(file, slow)
}

async function askAcrossKill(app: string, program: readonly string[]): Promise<void> {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  const start = (): AppServer => new AppServer(app, program, { PORT: String(port), NODE_ENV: 'production' })
  let server = start()
  const browser = await launchChromium()
  try {
    const page = await browser.newPage()
    const opened = (): Promise<unknown> => page.goto(url).catch(() => undefined)
    await until('the page is served', opened, { withinMs: WITHIN_MS })
    await page.getByRole('button', { name: 'Ask' }).click()
    await untilShown(page, /\bIt\b/)
    await server.kill()
    server = start()
    await untilShown(page, /\bIt is \d\d:\d\d in Asia\/Tokyo\.\ncompleted$/)
    await page.reload()
    await untilShown(page, /\bIt is \d\d:\d\d in Asia\/Tokyo\.\ncompleted$/)
    await expectTwoAttempts(url)
  } catch (cause) {
    throw new Error(`${String(cause)}\n${server.output}`, { cause })
  } finally {
    await browser.close()
    await server.kill()
  }
}

async function untilShown(page: Page, expected: RegExp): Promise<void> {
  const shown = async (): Promise<boolean> => expected.test((await page.innerText('main')).replace(/\s*\n\s*/g, '\n'))
  await until(`the page shows ${expected}`, shown, { withinMs: WITHIN_MS })
}

/** Otherwise the kill came too late and proves nothing. */
async function expectTwoAttempts(url: string): Promise<void> {
  const { runs } = createClient({ url: `${url}/api/agents` })
  const [run] = (await runs.list()).runs
  let attempts = 0
  for await (const { type } of runs.events(run!.id)) if (type === 'run.started') attempts++
  if (attempts !== 2) throw new Error(`the run was started ${attempts} times`)
}
