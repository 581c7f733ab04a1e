/** The shell blocks of docs/lab.md, typed into terminals against the demo with the lab. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { blocksOf } from '../support/doc-programs.ts'
import { freePort } from '../support/free-port.ts'
import { BLOCK_MS, isHealthy, projectFolder, readerEnvironment, Terminal } from '../support/doc-terminal.ts'
import { until } from '../support/until.ts'

const root = join(import.meta.dirname, '../..')
const blocks = blocksOf('docs/lab.md', 'sh')
const [serve, start, follow, slow, asking, unserializable, dying] = blocks as [string, ...string[]]
const ID = /run_\w+/

test('docs/lab.md: every block follows its server, and a client survives the script that kills it', async () => {
  expect(blocks).toHaveLength(7)
  const port = await freePort()
  const { folder, path } = projectFolder()
  const environment = { ...readerEnvironment(path, port), HOLDFAST_STORE: `sqlite:${join(folder, 'lab.db')}` }
  const server = new Terminal(root, environment)
  server.type(serve)
  await until('the demo serves', () => isHealthy(port), { withinMs: BLOCK_MS })
  const terminal = new Terminal(folder, environment)
  const type = (block: string, run = ''): Promise<string> =>
    terminal.run(`export RUN=${run}\n${block.replaceAll('localhost:7777', `127.0.0.1:${port}`)}`)
  const client = createClient({ url: `http://127.0.0.1:${port}` })

  const [started] = ID.exec(await type(start!))!
  const followed = await type(follow!, started)
  expect(followed.match(/run\.failed/g)?.length).toBeGreaterThanOrEqual(2)

  const slowly = new Terminal(folder, environment)
  slowly.type(slow!.replaceAll('localhost:7777', `127.0.0.1:${port}`))
  await until('the slow run streams', () => slowly.output.includes('text.delta'), { withinMs: BLOCK_MS })

  const [asked] = ID.exec(await type(asking!))!
  const question = await until('the run asks', async () => (await client.runs.get(asked)).waiting?.[0], {
    withinMs: BLOCK_MS,
  })
  expect(question).toMatchObject({ prompt: 'Shall I go on?' })
  await client.runs.answer(asked, { answers: { [question.id]: 'yes' } })
  expect(await client.runs.open(asked).result()).toBeUndefined()

  expect(await type(unserializable!)).toContain('"code":"unserializable"')

  const [dies] = ID.exec(await type(dying!))!
  await client.runs.open(dies).result()
  expect(await client.runs.get(dies)).toMatchObject({ status: 'completed', attempt: 2 })
}, 400_000)

describe('docs/models.md', () => {
  test('docs/models.md: its shell blocks are commands that other tests run', () => {
    // The first with a provider in test/cli/demo.test.ts, the second with the packed package in test/cli/new.test.ts.
    expect(blocksOf('docs/models.md', 'sh')).toEqual([
      'HOLDFAST_MODEL_URL=http://localhost:11434/v1 HOLDFAST_MODEL=llama npm start\n',
      'npx holdfast new my-agents\ncd my-agents && npm install && npm start\n',
    ])
  })
})
