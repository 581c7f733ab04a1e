/** Local checks of `holdfast doctor`: Node, store, disk, port. */
import { accessSync, constants, existsSync, statfsSync } from 'node:fs'
import { createServer } from 'node:net'
import { dirname, resolve } from 'node:path'
import { detailOf } from '../../core/model/errors.ts'
import type { StoreConfig } from '../../server/config/config-options.ts'
import { inspectSqlite, type StoreCondition } from '../../server/store/store-maintenance.ts'
import { version } from '../../server/version.ts'
import { checkNodeVersion } from '../node-version.ts'
import { size } from '../terminal/text.ts'
import { storeText } from '../target/target.ts'
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
        `${storeText(config)} is not checked from here`,
        'see the server finding below for the state of its store',
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
  const advice = 'restore a backup if you need the data (holdfast restore); other runs are not affected'
  const found = problems.map((problem) => bad('store', problem, advice))
  if (problemCount > problems.length)
    found.push(bad('store', `${problemCount - problems.length} more problems like these`, advice))
  if (found.length === 0) found.push(good('store', 'all checksums match and no event is missing'))
  if (unverified > 0)
    found.push(
      note(
        'store',
        `${unverified} rows have no checksum: an older version wrote them; they get one when they next change`,
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
  return [
    ...found,
    note(
      'store',
      `${size(stuckBytes)} of the file are unused`,
      'return them to the file system with holdfast gc --vacuum',
    ),
  ]
}

function conditionOf(path: string, condition: StoreCondition, serverRuns: boolean): Finding {
  switch (condition.state) {
    case 'absent':
      return missingFile(path)
    case 'in use':
      return serverRuns
        ? good('store', `${path} is in use by the running server`)
        : note('store', `${path} is in use, but no server was found`, 'name its server with --url')
    case 'unusable':
      return bad('store', condition.reason, 'fix this first: no server can open the store')
    case 'usable': {
      const { schema, current, bytes } = condition
      return schema === current
        ? good('store', `${path}: ${size(bytes)}, schema ${schema}`)
        : note(
            'store',
            `${path} has schema ${schema} of ${current}`,
            'migrate it with holdfast migrate, or start a server',
          )
    }
  }
}

function missingFile(path: string): Finding {
  let folder = dirname(resolve(path))
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder)
  try {
    accessSync(folder, constants.W_OK)
    return note('store', `${path} does not exist yet; the first server creates it`)
  } catch {
    return bad(
      'store',
      `${path} does not exist, and ${folder} is not writable`,
      'change its permissions, or use another --store',
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
    : bad('disk', `only ${size(free)} free at ${folder}`, 'free some space; holdfast gc trims finished runs')
}

/** Checks a port on which no Holdfast server responds. */
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
    return bad(
      'port',
      `${port} cannot be used: ${detailOf(cause)}`,
      'stop the program that uses it, or choose another --port',
    )
  } finally {
    await new Promise((settle) => server.close(settle))
  }
}
