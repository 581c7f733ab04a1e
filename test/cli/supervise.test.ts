/** `--supervise` restarts a killed server with its runs at the same address, and not one that exited. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { UNAVAILABLE } from '../../src/cli/exit-codes.ts'
import { lockFile } from '../../src/stores/sqlite/file/lock.ts'
import { call, readEvents, startRun, untilFinished } from '../support/http.ts'
import { temporaryDatabase, temporaryFolder } from '../support/temporary.ts'
import { until } from '../support/until.ts'
import { CommandLine, run } from './command-line.ts'

const WITHIN = { withinMs: 180_000, everyMs: 50 }

interface Report {
  readonly process: { readonly pid: number }
}

function supervised(): CommandLine {
  return new CommandLine(['demo', '--lab', '--supervise', '--port', '0', '--store', `sqlite:${temporaryDatabase()}`])
}

/** Undefined while no server listens. */
async function pidAt(url: string): Promise<number | undefined> {
  try {
    return (await call<Report>({ url }, 'GET', '/console/api/server')).body.process.pid
  } catch {
    return undefined
  }
}

function untilAnother(url: string, known: number): Promise<number> {
  return until(
    'another process serves',
    async () => {
      const pid = await pidAt(url)
      return pid === known ? undefined : pid
    },
    WITHIN,
  )
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

describe('a supervised server', () => {
  test('[RUN-1] [LOG-1] restarts at the same address after SIGKILL, and resumes its runs', async () => {
    const line = supervised()
    const url = await line.url()
    let pid = (await pidAt(url))!
    const { id } = await startRun({ url }, 'text 60 every 40; say over', { component: 'lab-resume' })
    for (let kills = 0; kills < 2; kills++) {
      process.kill(pid, 'SIGKILL')
      pid = await untilAnother(url, pid)
    }
    expect(await untilFinished({ url }, id, 60_000)).toMatchObject({ status: 'completed' })
    const log = await readEvents({ url }, id)
    expect(log.map(({ index }) => index)).toEqual(log.map((_, place) => place))
  })

  test('drains on SIGTERM, and the supervisor exits with its code', async () => {
    const line = supervised()
    const pid = (await pidAt(await line.url()))!
    line.kill('SIGTERM')
    const { code, stderr } = await line.ended()
    expect(code).toBe(0)
    expect(stderr.match(/draining/g)).toHaveLength(1)
    expect(stderr).not.toContain('started again')
    expect(isAlive(pid)).toBe(false)
  })

  test('exits when its supervisor is killed', async () => {
    const line = supervised()
    const pid = (await pidAt(await line.url()))!
    line.kill('SIGKILL')
    expect(await until('the server has ended', () => !isAlive(pid), WITHIN)).toBe(true)
  })

  test('restarts when its store is temporarily unavailable', async () => {
    const folder = temporaryFolder()
    const file = join(folder, 'agents.ts')
    // Exits once like a server whose store stays busy.
    const source = `import { existsSync, writeFileSync } from 'node:fs'
      const marker = ${JSON.stringify(join(folder, 'tried'))}
      if (!existsSync(marker)) {
        writeFileSync(marker, '')
        process.exit(${UNAVAILABLE})
      }
      export const echo = { id: 'echo', kind: 'agent', async *run() {} }`
    writeFileSync(file, source)
    const store = `sqlite:${join(folder, 'runs.db')}`
    const line = new CommandLine(['serve', file, '--lab', '--supervise', '--port', '0', '--store', store])
    const url = await line.url()
    expect(await call({ url }, 'GET', '/health')).toMatchObject({ status: 200 })
    line.kill('SIGTERM')
    expect((await line.ended()).stderr).toContain('The server could not use its store; restarting it.')
  })

  test('waits for another process that has its store open, then serves', async () => {
    const path = temporaryDatabase()
    const lock = lockFile(path)
    const line = new CommandLine(['demo', '--supervise', '--port', '0', '--store', `sqlite:${path}`])
    await until('it is started again', () => line.stderr.includes('restarting it'), WITHIN)
    expect(line.stderr).toContain(`${path} is in use by another process`)
    lock.release()
    expect(await call({ url: await line.url() }, 'GET', '/health')).toMatchObject({ status: 200 })
    line.kill('SIGTERM')
    expect((await line.ended()).code).toBe(0)
  })

  test('does not restart after it exits with an error, for example because its file does not exist', async () => {
    const missing = join(temporaryFolder(), 'missing.ts')
    const { code, stderr } = await run(['serve', missing, '--supervise'])
    const alone = await run(['serve', missing])
    expect({ code, stderr }).toEqual({ code: alone.code, stderr: alone.stderr })
  })
})
