/** Export and import: the log of a run byte for byte; invalid files are rejected. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createMemoryStore } from '../../src/stores/memory.ts'
import { openSqliteStore } from '../../src/stores/sqlite/index.ts'
import { overriding } from '../../src/testing/broken-stores.ts'
import { readLog } from '../../src/cli/transfer/read-log.ts'
import { writeLog } from '../../src/cli/transfer/write-log.ts'
import { readLog as readBytes, startRun, stopRun, untilFinished, untilStatus } from '../support/http.ts'
import { serveInProcess } from '../support/in-process.ts'
import { temporaryFolder } from '../support/temporary.ts'
import { callWith, NOBODY } from './called.ts'

const call = callWith(NOBODY)

const scripts: Readonly<Record<string, string>> = {
  completed:
    'text 30; tool search; step prepare; custom note; date; bytes; bigint; nan; deep 20; artifact file 70; state one; usage 3 4',
  failed: 'say "a\\"b\u2028 🌊 \\\\"; throw boom',
  rejected: 'reject no',
  large: 'big 900; big 900; text 500',
}

async function exported(script: string): Promise<{ readonly id: string; readonly url: string; readonly text: string }> {
  const { url } = await serveInProcess()
  const { id } = await startRun({ url }, script)
  await untilFinished({ url }, id)
  const { code, stdout } = await call('export', id, '--url', url)
  expect(code).toBe(0)
  return { id, url, text: stdout }
}

test.each(Object.keys(scripts))('[LOG-5] a %s run is byte-identical after export and import', async (name) => {
  const { id, url, text } = await exported(scripts[name]!)
  const folder = temporaryFolder()
  const store = `sqlite:${join(folder, 'copy.db')}`
  writeFileSync(join(folder, 'run.ndjson'), text)
  const imported = await call('import', join(folder, 'run.ndjson'), '--store', store)
  expect(imported).toMatchObject({ code: 0, stdout: expect.stringContaining(`Imported ${id}`) as string })
  expect((await call('export', id, '--store', store)).stdout).toBe(text)

  const before = await readBytes({ url }, id)
  const shown = JSON.parse((await call('show', id, '--json', '--url', url)).stdout) as unknown
  const copy = await serveInProcess({ path: join(folder, 'copy.db') })
  expect((await readBytes(copy, id)).equals(before)).toBe(true)
  expect(JSON.parse((await call('show', id, '--json', '--url', copy.url)).stdout)).toEqual(shown)
})

test('holdfast import: a repeated import changes nothing, and a different run with the same id is rejected', async () => {
  const { id, text } = await exported('say hello')
  const folder = temporaryFolder()
  const store = `sqlite:${join(folder, 'copy.db')}`
  writeFileSync(join(folder, 'run.ndjson'), text)
  writeFileSync(join(folder, 'other.ndjson'), text.replace('"hello"}', '"HELLO"}'))
  await call('import', join(folder, 'run.ndjson'), '--store', store)
  expect(await call('import', join(folder, 'run.ndjson'), '--store', store)).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('already exists') as string,
  })
  expect(await call('import', join(folder, 'other.ndjson'), '--store', store)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining(`the store has a different run ${id}`) as string,
  })
  expect((await call('export', id, '--store', store)).stdout).toBe(text)
})

test('[SEC-1] holdfast import: the run belongs to the given principal', async () => {
  const { id, text } = await exported('say hello')
  const folder = temporaryFolder()
  const store = `sqlite:${join(folder, 'copy.db')}`
  writeFileSync(join(folder, 'run.ndjson'), text)
  await call('import', join(folder, 'run.ndjson'), '--store', store, '--principal', 'alice', '--tenant', 'acme')
  expect(await call('show', id, '--store', store)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('there is no run') as string,
  })
  const opened = await openSqliteStore({ path: join(folder, 'copy.db') })
  expect((await opened.get(id))?.run.owner).toBe('acme/alice')
  await opened.close()
})

test('holdfast export rejects an unfinished run', async () => {
  const { url } = await serveInProcess()
  const { id } = await startRun({ url }, 'ask Sure?')
  await untilStatus({ url }, id, ['paused'])
  expect(await call('export', id, '--url', url)).toMatchObject({
    code: 1,
    stdout: '',
    stderr: expect.stringContaining(`${id} is paused: only finished runs`) as string,
  })
  await stopRun({ url }, id, 5000)
  expect(await call('export', id, '--url', url)).toMatchObject({ code: 0 })
})

describe('holdfast import', async () => {
  const lines = [
    '{"run":"run_1","index":0,"time":"2026-01-01T00:00:00.000Z","type":"run.created","data":{"component":"lab","input":"x","session":"s"}}',
    '{"run":"run_1","index":1,"time":"2026-01-01T00:00:01.000Z","type":"run.started","data":{"attempt":1}}',
    '{"run":"run_1","index":2,"time":"2026-01-01T00:00:02.000Z","type":"text.delta","data":{"text":"hi"}}',
    '{"run":"run_1","index":3,"time":"2026-01-01T00:00:03.000Z","type":"run.completed","data":{}}',
  ]
  const change = (at: number, from: string, to: string): string[] =>
    lines.map((line, index) => (index === at ? line.replace(from, to) : line))

  test('accepts the complete log of a finished run', () => {
    expect(readLog(`${lines.join('\n')}\n`, 'local').run).toMatchObject({
      id: 'run_1',
      status: 'completed',
      attempt: 1,
    })
  })

  test.each<[string, string[], RegExp]>([
    ['[LOG-1] a gap', lines.filter((_, index) => index !== 2), /line 3: its index is 3 and must be 2/],
    ['[LOG-1] a repeat', [...lines.slice(0, 3), ...lines.slice(2)], /line 4: its index is 2 and must be 3/],
    ['[LOG-1] a missing beginning', lines.slice(1), /line 1: its index is 1 and must be 0/],
    ['[LOG-3] a missing end', lines.slice(0, 3), /line 3: the end of the run is missing/],
    [
      '[LOG-3] an event after the end',
      [...lines, change(2, '"index":2', '"index":4')[2]!],
      /line 4: there are lines after the end of the run/,
    ],
    [
      '[LOG-3] two ends',
      [...lines, lines[3]!.replace('"index":3', '"index":4')],
      /line 4: there are lines after the end of the run/,
    ],
    ['an event of another run', change(2, 'run_1', 'run_2'), /line 3: it belongs to another run, run_2/],
    ['an unknown type', change(2, 'text.delta', 'text.delt'), /line 3: "text.delt" is not an event type/],
    [
      'a type that cannot follow',
      change(1, '"run.started","data":{"attempt":1}', '"run.resumed","data":{"answers":{}}'),
      /line 2: .*cannot follow queued/,
    ],
    ['no time', change(2, '2026-01-01T00:00:02.000Z', 'yesterday'), /line 3: it has no time/],
    ['data that does not fit its type', change(2, '{"text":"hi"}', '{"text":7}'), /line 3: text\.delta with text/],
    ['no data', change(2, '{"text":"hi"}', '7'), /line 3: it has no data/],
    [
      'keys in another order',
      change(2, '{"run":"run_1","index":2,', '{"index":2,"run":"run_1",'),
      /line 3: it is not in Holdfast's event format/,
    ],
    ['extra whitespace', change(2, '{"run":', '{ "run":'), /line 3: it is not in Holdfast/],
    ['invalid JSON', change(2, '"hi"}}', '"hi"'), /line 3: it is not a JSON object/],
    ['an empty line', [...lines.slice(0, 2), '', ...lines.slice(2)], /line 3: it is not a JSON object/],
    [
      'a run id that would break out of its record',
      lines.map((line) => line.replace('run_1', 'run\\n1')),
      /line 1: it has no run id/,
    ],
    ['an empty file', [], /line 1: it is not a JSON object|the file is empty/],
  ])('rejects %s with the line number, and leaves the store unchanged', async (_name, changed, expectedText) => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'run.ndjson'), changed.map((line) => `${line}\n`).join(''))
    const { code, stdout, stderr } = await call(
      'import',
      join(folder, 'run.ndjson'),
      '--store',
      `sqlite:${join(folder, 'copy.db')}`,
    )
    expect(stderr).toMatch(expectedText)
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' })
    expect(await call('runs', '--store', `sqlite:${join(folder, 'copy.db')}`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('there is no store') as string,
    })
  })

  test('[RUN-1] leaves nothing that a worker would execute when it is interrupted', async () => {
    const store = createMemoryStore()
    const failing = overriding(store, {
      writer: () => {
        throw new Error('the power is off')
      },
    })
    await expect(writeLog(failing, readLog(lines.join('\n'), 'local'))).rejects.toThrow('the power is off')
    expect((await store.get('run_1'))?.run).toMatchObject({ status: 'paused' })
    await store.release('run_1', 1)
    expect(await store.claimable(10)).toEqual([])
    await store.close()
  })
})
