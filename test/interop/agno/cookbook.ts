/** agno's own example clients, unmodified, from a checkout of its repository: the current and the previous cookbook. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { ensurePython } from '../../support/python.ts'
import { npmStart, serving } from '../served.ts'
import type { Tally } from '../tally.ts'

interface Script {
  readonly file: string
  readonly args?: readonly string[]
  /** Output of a successful script; without it, the script only has to exit with 0. */
  readonly says?: RegExp
}

/** Addresses and ids are written into the scripts, so each group has a server that fits. */
interface Group {
  readonly server: 'npm start' | 'cookbook'
  readonly port: number
  readonly scripts: readonly Script[]
}

const contiguous = /\[PASS\] Event indices are contiguous/

const groups: readonly Group[] = [
  {
    server: 'npm start',
    port: 7777,
    scripts: [
      { file: 'client/01_basic_client.py', says: /Agent Details/ },
      { file: 'client/02_run_agents.py', says: /Content: \S/ },
      { file: 'client/04_session_management.py', says: /Found 2 runs[^]*Session deleted/ },
      { file: 'client/06_run_teams.py', says: /Content: \S/ },
      { file: 'client/07_run_workflows.py', says: /Content: \S/ },
      { file: 'client/10_sse_reconnect.py', says: contiguous },
      { file: 'client/11_team_sse_reconnect.py', says: contiguous },
      { file: 'client/13_workflow_sse_reconnect.py', says: contiguous },
    ],
  },
  {
    server: 'cookbook',
    port: 7777,
    scripts: [
      { file: 'client/12_continue_run_sse_reconnect.py', says: contiguous },
      { file: '01_getting_started/run_over_http.py', says: /Completed run[^]*Sessions found: 1/ },
      { file: '04_run_lifecycle/background_run.py', args: ['--demo'], says: /Result: \S/ },
      { file: '04_run_lifecycle/cancel_run.py', args: ['--demo'], says: /Final status: CANCELLED/ },
      { file: '04_run_lifecycle/checkpoints.py', args: ['--demo'], says: /Source run ID: run_[^]*Result: \S/ },
      { file: '04_run_lifecycle/sse_reconnect.py', args: ['--demo', 'run'], says: /Resumed event_index range/ },
      { file: '04_run_lifecycle/sse_reconnect.py', args: ['--demo', 'continue'], says: /Resumed event_index range/ },
      { file: '05_human_in_the_loop/basic.py', args: ['--demo'], says: /Final status: COMPLETED/ },
      { file: '05_human_in_the_loop/with_approval_record.py', args: ['--demo'], says: /Final status: COMPLETED/ },
      { file: '09_serving_workflows/run_over_api.py', says: /Stored runs in session: 2/ },
      { file: '09_serving_workflows/ws_stream.py', says: /Indexed through/ },
    ],
  },
  {
    server: 'cookbook',
    port: 7778,
    scripts: [
      { file: '03_python_client/01_connect.py', says: /Asynchronous connection/ },
      { file: '03_python_client/02_run_and_stream.py', says: /Run completed/ },
    ],
  },
]

const SCRIPT_MS = 240_000
const EXAMPLES = 'cookbook/05_agent_os'

/** Runs those scripts of the checkout that are there. */
export async function runScripts(checkout: string, folder: string, tally: Tally): Promise<void> {
  const examples = join(checkout, EXAMPLES)
  if (!existsSync(examples)) return tally.add(`scripts of ${checkout}`, `there is no ${EXAMPLES}`)
  const python = await ensurePython(join(import.meta.dirname, 'cookbook.txt'))
  for (const [index, { server, port, scripts }] of groups.entries()) {
    const there = scripts.filter(({ file }) => existsSync(join(examples, file)))
    if (there.length === 0) continue
    const store = join(folder, `cookbook-${index}.db`)
    const process = server === 'cookbook' ? serving(COMPONENTS, port, store) : npmStart(port, store)
    await process.start()
    try {
      await Promise.all(there.map((script) => runScript(python, join(examples, script.file), script, folder, tally)))
    } finally {
      await process.kill()
    }
  }
}

const COMPONENTS = join(import.meta.dirname, 'cookbook-components.ts')

async function runScript(
  python: string,
  path: string,
  { file, args = [], says }: Script,
  cwd: string,
  tally: Tally,
): Promise<void> {
  const title = `agno's ${[file, ...args].join(' ')}`
  const env = { ...process.env, OPENAI_API_KEY: 'unused', AGNO_TELEMETRY: 'false' }
  try {
    const { stdout } = await promisify(execFile)(python, [path, ...args], { cwd, env, timeout: SCRIPT_MS })
    const ok = says === undefined || says.test(stdout)
    tally.add(title, ok ? undefined : `it did not say ${says}:\n${stdout.slice(-2000)}`)
  } catch (cause) {
    tally.add(title, cause instanceof Error ? cause.message.slice(-2000) : String(cause))
  }
}
