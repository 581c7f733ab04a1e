/** What the doctor finds out about this machine: Node, the store, the disk, the port. */
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, resolve } from 'node:path'
import { detailOf } from '../../core/model/errors.ts'
import type { StoreConfig } from '../../server/config-options.ts'
import { inspectSqlite, type StoreCondition } from '../../server/store-maintenance.ts'
import { version } from '../../server/version.ts'
import { checkNodeVersion } from '../node-version.ts'
import { size } from '../terminal/text.ts'
import { storeText } from '../target.ts'
import { bad, type Finding, good, note } from './finding.ts'

export function examineVersions(): Finding[] {
  const problem = checkNodeVersion(process.versions.node)
  return [
    good('holdfast', version),
    problem === undefined
      ? good('node', process.versions.node)
      : bad('node', problem, 'install a newer Node, and start holdfast with it'),
  ]
}

const DISK_BYTES_MIN = 200e6

export async function examineStore(config: StoreConfig, serverRuns: boolean): Promise<Finding[]> {
  if (config.kind === 'memory')
    return [
      note(
        'store',
        `${storeText(config)} is not looked at from here`,
        'the server says below whether it can use its store',
      ),
    ]
  if (config.kind !== 'sqlite') return (await import('./shared-store.ts')).examineShared(config)
  const condition = inspectSqlite(config.path)
  const found = conditionOf(config.path, condition, serverRuns)
  if (found.state === 'bad') return [found]
  return [found, ...damageOf(condition), ...warningsOf(condition), diskOf(config.path)]
}

function damageOf(condition: StoreCondition): Finding[] {
  if (condition.state !== 'usable' || condition.examination === undefined) return []
  const { problems, problemCount, unverified } = condition.examination
  const advice = 'restore a backup if it matters (holdfast restore); all other runs go on'
  const found = problems.map((problem) => bad('store', problem, advice))
  if (problemCount > problems.length)
    found.push(bad('store', `and ${problemCount - problems.length} more of this kind`, advice))
  if (found.length === 0) found.push(good('store', 'every checksum is right, and no event is missing'))
  if (unverified > 0)
    found.push(
      note(
        'store',
        `${unverified} rows have no checksum: an older version wrote them, and they get one when they change`,
      ),
    )
  return found
}

const STUCK_BYTES_MAX = 100e6

function warningsOf(condition: StoreCondition): Finding[] {
  if (condition.state !== 'usable') return []
  const { warnings, stuckBytes } = condition
  const found = warnings.map((warning) => note('store', warning))
  if (stuckBytes < STUCK_BYTES_MAX) return found
  return [...found, note('store', `${size(stuckBytes)} of the file are free`, 'holdfast gc --vacuum gives them back')]
}

function conditionOf(path: string, condition: StoreCondition, serverRuns: boolean): Finding {
  switch (condition.state) {
    case 'absent':
      return absent(path)
    case 'in use':
      return serverRuns
        ? good('store', `${path} is in use, as it should be while a server runs`)
        : note('store', `${path} is in use, and no server was found`, 'say where its server listens with --url')
    case 'unusable':
      return bad('store', condition.reason, 'no server can open it before that is done')
    case 'usable': {
      const { schema, current, bytes } = condition
      return schema === current
        ? good('store', `${path}: ${size(bytes)}, schema ${schema}`)
        : note(
            'store',
            `${path} has schema ${schema} of ${current}`,
            'holdfast migrate, or start a server: both bring it up to date',
          )
    }
  }
}

function absent(path: string): Finding {
  let folder = dirname(resolve(path))
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder)
  try {
    accessSync(folder, constants.W_OK)
    return note('store', `${path} is not there yet; the first server makes it`)
  } catch {
    return bad(
      'store',
      `${path} is not there, and ${folder} cannot be written to`,
      'change its permissions, or give --store',
    )
  }
}

function diskOf(path: string): Finding {
  let folder = dirname(resolve(path))
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder)
  const { bavail, bsize } = statfsSync(folder)
  const free = bavail * bsize
  return free >= DISK_BYTES_MIN
    ? good('disk', `${size(free)} free`)
    : bad('disk', `only ${size(free)} free at ${folder}`, 'make room; holdfast gc trims finished runs')
}

/** Of a port that no server of ours answers at. */
export async function examinePort(url: string): Promise<Finding> {
  const port = Number(new URL(url).port)
  const server = createServer()
  try {
    await new Promise<void>((settle, reject) => {
      server.once('error', reject)
      server.listen(port, '127.0.0.1', settle)
    })
    return good('port', `${port} is free`)
  } catch (cause) {
    return bad('port', `${port} cannot be used: ${detailOf(cause)}`, 'end what uses it, or give servers another --port')
  } finally {
    await new Promise((settle) => server.close(settle))
  }
}
