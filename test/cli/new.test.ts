/** `holdfast new DIRECTORY`: the project that it writes is installed and started as its user would, from the packed package. */
import { execFile, spawn } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readEvents, startRun } from '../support/http.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { root, run } from './command-line.ts'

const execute = promisify(execFile)

/** With this Node and the tools of this repository, whatever the machine has. */
const env = {
  ...process.env,
  PATH: [dirname(process.execPath), join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter),
}

async function npm(cwd: string, ...args: readonly string[]): Promise<string> {
  const { stdout } = await execute('npm', [...args], { cwd, env, timeout: 300_000, maxBuffer: 64 * 1024 * 1024 })
  return stdout
}

/** The package as it would be published, built apart from the repository's own `dist`. */
async function pack(folder: string): Promise<string> {
  const source = join(folder, 'package')
  mkdirSync(source)
  const flags = ['-p', join(root, 'tsconfig.build.json'), '--outDir', join(source, 'dist'), '--noCheck']
  await execute('tsc', flags, { cwd: root, env, timeout: 120_000 })
  const { scripts: _scripts, ...manifest } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  writeFileSync(join(source, 'package.json'), JSON.stringify(manifest))
  cpSync(join(root, 'src'), join(source, 'src'), { recursive: true })
  await npm(source, 'pack', '--pack-destination', folder)
  return join(
    folder,
    readdirSync(folder).find((file) => file.endsWith('.tgz'))!,
  )
}

/** Started with `npm start`, and ended with all that it started. */
async function started(project: string): Promise<string> {
  const child = spawn('npm', ['start', '--', '--port', '0'], { cwd: project, env, detached: true, stdio: 'pipe' })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (text: Buffer) => (said += text.toString()))
  const exited = new Promise((resolve) => child.once('exit', resolve))
  onTestFinished(async () => {
    process.kill(-child.pid!, 'SIGKILL')
    await exited
  })
  return until(
    'it listens',
    () => {
      if (child.exitCode !== null) throw new Error(`it ended:\n${said}`)
      return /Holdfast listens at (\S+)\n/.exec(said)?.[1]
    },
    { withinMs: 180_000 },
  )
}

test('holdfast new: the project installs with npm install, starts with npm start, and its agent calls its tool', async () => {
  const folder = temporaryFolder()
  const project = join(folder, 'my agents')
  const { code, stdout } = await run(['new', project])
  expect(code).toBe(0)
  expect(stdout).toContain('npm install\n  npm start\n')
  expect(readdirSync(project).toSorted()).toEqual([
    '.gitignore',
    'README.md',
    'agents.ts',
    'package.json',
    'tsconfig.json',
  ])
  const manifest = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8'))
  expect(manifest).toMatchObject({ name: 'my-agents', engines: { node: '>=22.18' } })
  manifest.dependencies.holdfast = `file:${await pack(folder)}`
  writeFileSync(join(project, 'package.json'), JSON.stringify(manifest))
  await npm(project, 'install', '--prefer-offline', '--no-audit', '--no-fund')
  await npm(project, 'run', 'check')

  const target = { url: await started(project) }
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
}, 600_000)

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
  ] as const)('%s', async ([, path, said]) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'file'), '')
    const { code, stderr } = await run(['new', join(folder, path)])
    expect(code).not.toBe(0)
    expect(stderr).toMatch(said)
    expect(stderr).not.toMatch(/^ {4}at /m)
  })

  test.for([[[]], [['one', 'two']], [['--force', 'one']]] as const)(
    'the arguments %j and says what is expected',
    async ([args]) => {
      const cwd = temporaryFolder()
      const { code, stderr } = await run(['new', ...args], { cwd })
      expect(code).toBe(2)
      expect(stderr).toMatch(/expected one directory\n\nUsage: holdfast new DIRECTORY|unknown flag --force/)
      expect(readdirSync(cwd)).toEqual([])
    },
  )
})

test('holdfast new accepts an empty directory and derives a valid npm name from it', async () => {
  const cwd = join(temporaryFolder(), '.Élan & Co')
  mkdirSync(cwd)
  const { code, stdout } = await run(['new', '.'], { cwd })
  expect(code).toBe(0)
  expect(stdout).not.toContain('cd ')
  expect(JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')).name).toBe('lan-co')
})
