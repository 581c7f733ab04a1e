/** `holdfast new DIRECTORY`: the project that it writes is installed and started as its user would, from the packed package. */
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, onTestFinished, test } from 'vitest'
import { projectFiles, templateNames } from '../../src/cli/new/project.ts'
import { freePort } from '../support/free-port.ts'
import { readEvents, startRun } from '../support/http.ts'
import { installPacked, npm, toolsEnv } from '../support/packed-package.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { run } from './command-line.ts'

const execute = promisify(execFile)

/** Started with `npm start`, and ended with all that it started. */
async function started(project: string, listening: RegExp, hasPortFlag: boolean): Promise<string> {
  const port = String(hasPortFlag ? 0 : await freePort())
  const child = spawn('npm', ['start', ...(hasPortFlag ? ['--', '--port', port] : [])], {
    cwd: project,
    env: { ...toolsEnv, PORT: port },
    detached: true,
    stdio: 'pipe',
  })
  let spoken = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (spoken += text.toString()))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  onTestFinished(async () => {
    process.kill(-child.pid!, 'SIGKILL')
    await exited
  })
  return until(
    'it listens',
    () => {
      if (child.exitCode !== null) throw new Error(`it ended:\n${spoken}`)
      return listening.exec(spoken)?.[1]
    },
    { withinMs: 180_000 },
  )
}

/** The program of a package that is installed from a tarball, because its output depends on its copy. */
let installed: Promise<string> | undefined

function install(): Promise<string> {
  return (installed ??= (async () => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-new-'))
    afterAll(() => rmSync(folder, { recursive: true, force: true }))
    return installPacked(folder)
  })())
}

interface Place {
  readonly folder: string
  /** Exists, and the command is called there without a directory. */
  readonly isCurrent?: boolean
}

async function create(template: string, { folder, isCurrent = false }: Place): Promise<string> {
  const project = join(temporaryFolder(), folder)
  if (isCurrent) mkdirSync(project)
  const { stdout } = await execute(
    'node',
    [await install(), 'new', ...(isCurrent ? [] : [project]), '--template', template],
    isCurrent ? { cwd: project } : {},
  )
  expect(stdout).toContain('npm install\n  npm start\n')
  expect(stdout.includes('cd ')).toBe(!isCurrent)
  await installProject(project)
  await npm(project, 'run', 'check')
  return project
}

/**
 * The first project is installed into an empty folder. The others start with what it got, most of which they need as well: npm adds what is
 * missing and removes what is not theirs, in a tenth of the time.
 */
async function installProject(project: string): Promise<void> {
  const modules = join(project, 'node_modules')
  const earlier = join(dirname(await install()), 'modules-of-first-project')
  if (existsSync(earlier)) await copyFolder(earlier, modules)
  await npm(project, 'install', '--prefer-offline', '--no-audit', '--no-fund')
  if (!existsSync(earlier)) await copyFolder(modules, earlier)
}

/** With the times of folders, without which npm installs everything again. */
async function copyFolder(from: string, to: string): Promise<void> {
  await execute('cp', ['-a', from, to])
}

const LISTENING = { minimal: /Holdfast listens at (\S+)\n/, mounted: /listening at (\S+)\n/ }

test.each([
  ['minimal', 'my-agents', { folder: 'my agents' }],
  ['express', 'my-agents', { folder: 'my agents' }],
  // An empty directory with a name that npm does not accept.
  ['hono', 'lan-co', { folder: '.Élan & Co', isCurrent: true }],
] as const)(
  'holdfast new --template %s: the project %s installs, type-checks and starts, and its agent calls its tool',
  async (template, name, place) => {
    const project = await create(template, place)
    const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))
    expect(manifest).toMatchObject({ name, engines: { node: '>=22.18' } })
    expect(manifest.dependencies.holdfast).toMatch(/^file:vendor\/holdfast-.*\.tgz$/)
    const isMinimal = template === 'minimal'
    const url = await started(project, isMinimal ? LISTENING.minimal : LISTENING.mounted, isMinimal)
    const target = { url: isMinimal ? url : `${url}/api/agents` }
    const { id } = await startRun(target, 'What time is it in Asia/Tokyo?', { component: 'assistant' })
    const events = await readEvents(target, id)
    expect(events.find(({ type }) => type === 'tool.called')?.data).toMatchObject({
      name: 'time',
      input: { zone: 'Asia/Tokyo' },
    })
    expect(events.at(-1)).toMatchObject({
      type: 'run.completed',
      data: { output: expect.stringMatching(/^It is \d\d:\d\d in Asia\/Tokyo\.$/) as string },
    })
  },
  600_000,
)

test.each(templateNames)('holdfast new --template %s: every file that the README names exists', (template) => {
  const files = projectFiles(template, 'x', { holdfast: '1', ai: '1', zod: '1', node: '>=22' })
  const named = [...files['README.md']!.matchAll(/`([\w./]+\.tsx?)`/g)].map(([, file]) => file!)
  expect(named.length).toBeGreaterThan(0)
  for (const file of named) expect(Object.keys(files)).toContain(file)
})

describe('holdfast new rejects', () => {
  test('a directory that is not empty, and leaves it unchanged', async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'package.json'), 'mine')
    const { code, stdout, stderr } = await run(['new', folder])
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(stderr).toBe(`holdfast new: ${folder} is not empty (it has package.json): use a new directory\n`)
    expect(readdirSync(folder)).toEqual(['package.json'])
    expect(readFileSync(join(folder, 'package.json'), 'utf8')).toBe('mine')
  })

  test.for([
    ['a file', 'file', /is a file: use a new directory/],
    ['a directory below a file', 'file/project', /file/],
  ] as const)('%s', async ([, path, reply]) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'file'), '')
    const { code, stderr } = await run(['new', join(folder, path)])
    expect(code).not.toBe(0)
    expect(stderr).toMatch(reply)
    expect(stderr).not.toMatch(/^ {4}at /m)
  })

  test.for([[['one', 'two']], [['--force', 'one']], [['--template', 'vue', 'one']]] as const)(
    'the arguments %j and says what is expected',
    async ([args]) => {
      const cwd = temporaryFolder()
      const { code, stderr } = await run(['new', ...args], { cwd })
      expect(code).toBe(2)
      expect(stderr).toMatch(
        /expected one directory\n\nUsage: holdfast new \[DIRECTORY\]|unknown flag --force|--template: "vue" is not known/,
      )
      expect(readdirSync(cwd)).toEqual([])
    },
  )
})
