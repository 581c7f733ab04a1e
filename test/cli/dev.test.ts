/** `holdfast dev`: changed code is loaded, and runs in progress continue. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { call, followRun, getRun, readEvents, startRun, untilFinished } from '../support/http.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { CommandLine, root } from './command-line.ts'

const library = JSON.stringify(join(root, 'src/index.ts'))

/** Emits its word, waits for a file, and emits it again. It has no recovery, so it ends with its process. */
const agents = (more = ''): string => `
import { existsSync } from 'node:fs'
import { agent } from ${library}
import { word } from './lib/word.ts'
export const teller = agent({
  id: 'teller',
  async *run(gate: string, { sleep }) {
    yield word + ' '
    while (gate !== '' && !existsSync(gate)) await sleep(20)
    yield word
  },
})
${more}
`

function write(path: string, text: string): void {
  writeFileSync(`${path}.tmp`, text)
  renameSync(`${path}.tmp`, path) // as editors do
}

async function outputOf(target: { readonly url: string }, id: string): Promise<string> {
  await untilFinished(target, id)
  return (await readEvents(target, id)).map(({ data }) => (data['text'] as string | undefined) ?? '').join('')
}

test('[RUN-2] holdfast dev: runs in progress finish with their old code, new runs use the new code', async () => {
  const folder = temporaryFolder()
  mkdirSync(join(folder, 'lib'))
  write(join(folder, 'lib/word.ts'), `export const word: string = 'old'\n`)
  write(join(folder, 'agents.ts'), agents())
  const server = new CommandLine(['dev', 'agents.ts', '--port', '0'], { cwd: folder })
  const target = { url: await server.url() }
  const page = { origin: 'http://localhost:3000' }
  const { headers } = await fetch(`${target.url}/components`, { headers: page })
  expect(headers.get('access-control-allow-origin')).toBe(page.origin)
  const gate = join(folder, 'gate')
  const { id } = await startRun(target, gate, { component: 'teller' })
  const stream = followRun(target, id)
  await until('it has begun', async () => (await getRun(target, id)).events >= 3)

  const reloads = (count: number): Promise<unknown> =>
    until(`it was reloaded ${count} times`, () => (server.stdout.match(/✓ reloaded in/g) ?? []).length >= count, {
      withinMs: 180_000,
    })

  // A module that the file imports.
  write(join(folder, 'lib/word.ts'), `export const word: string = 'new'\n`)
  await reloads(1)
  const second = await startRun(target, '', { component: 'teller' })
  expect(await outputOf(target, second.id)).toBe('new new')

  // A file that does not load is reported, and nothing changes.
  write(join(folder, 'agents.ts'), 'export const = 7')
  await until('it says so', () => server.stdout.includes('✗ not reloaded: agents.ts cannot be loaded'), {
    withinMs: 180_000,
  })
  const third = await startRun(target, '', { component: 'teller' })
  expect(await outputOf(target, third.id)).toBe('new new')

  // The file itself, with another component.
  write(join(folder, 'agents.ts'), agents(`export const other = agent({ id: 'other', async *run() { yield 'hi' } })`))
  await reloads(2)
  const { body } = await call<{ components: { id: string }[] }>(target, 'GET', '/components')
  expect(body.components.map((component) => component.id)).toEqual(['other', 'teller'])

  // All the while the first run has waited, on the same connection.
  expect(await getRun(target, id)).toMatchObject({ status: 'running', attempt: 1 })
  writeFileSync(gate, '')
  expect(await outputOf(target, id)).toBe('old old')
  expect(await stream.ended).toBe('closed')
  expect(stream.log.toString()).toContain('run.completed')
  server.kill('SIGTERM')
  expect(await server.ended()).toMatchObject({ code: 0 })
})

test('holdfast dev needs exactly one file, like holdfast serve', async () => {
  const ended = await new CommandLine(['dev']).ended()
  expect(ended).toMatchObject({ code: 2, stderr: expect.stringContaining('Usage: holdfast dev FILE') as string })
})

test('holdfast dev reads .env, for its configuration and for agents; variables that are set win, and --env-file names other files', async () => {
  const folder = temporaryFolder()
  write(
    join(folder, 'agents.ts'),
    `import { agent } from ${library}
     const { KIND, TIDE, MOON } = process.env
     export const teller = agent({ id: 'teller', async *run() { yield [KIND, TIDE, MOON].join(' ') } })`,
  )
  write(join(folder, '.env'), 'HOLDFAST_BASE_PATH=/from-env\nKIND=default\nTIDE="in the file"\n')
  write(join(folder, 'one.env'), 'KIND=one\nMOON=full\n')
  write(join(folder, 'two.env'), 'KIND=two\n')
  const textWith = async (...flags: readonly string[]): Promise<string> => {
    const server = new CommandLine(['dev', 'agents.ts', '--port', '0', '--store', 'memory:', ...flags], {
      cwd: folder,
      env: { TIDE: 'set before' },
    })
    const target = { url: await server.url() }
    const text = await outputOf(target, (await startRun(target, '', { component: 'teller' })).id)
    return `${text} at ${new URL(target.url).pathname}`
  }
  expect(await textWith()).toBe('default set before  at /from-env')
  expect(await textWith('--env-file', 'one.env', '--env-file=two.env')).toBe('two set before full at /')
})
