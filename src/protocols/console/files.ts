/** The console's files, from the package or, when running from source, built on first request. */
import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { extname, join } from 'node:path'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { HoldfastError } from '../../core/model/errors.ts'
import { buildFromSources } from './build.ts'

const zip = promisify(gzip)

export interface Asset {
  readonly type: string
  readonly bytes: Buffer
  readonly zipped: Buffer
}

export interface LoadedFiles {
  readonly page: string
  readonly assets: ReadonlyMap<string, Asset>
}

const TYPES: ReadonlyMap<string, string> = new Map([
  ['.js', 'text/javascript; charset=utf-8'],
  ['.css', 'text/css; charset=utf-8'],
  ['.svg', 'image/svg+xml'],
])

export interface ConsoleFiles {
  load(): Promise<LoadedFiles>
  asset(files: LoadedFiles, name: string): Asset
}

/** Read once, on first use. */
export function openFiles(): ConsoleFiles {
  let loading: Promise<LoadedFiles> | undefined
  return {
    load() {
      loading ??= folderOfPage().then(readFolder)
      loading.catch(() => (loading = undefined)) // so that the next request retries
      return loading
    },
    asset({ assets }, name) {
      const found = assets.get(name)
      if (found === undefined) throw new HoldfastError('not_found', `the console has no file ${name.slice(0, 100)}`)
      return found
    },
  }
}

async function folderOfPage(): Promise<string> {
  const shipped = join(import.meta.dirname, '../../console')
  if (existsSync(join(shipped, 'index.html'))) return shipped
  return buildFromSources(join(import.meta.dirname, '../../..'))
}

async function readFolder(folder: string): Promise<LoadedFiles> {
  const names = (await readdir(join(folder, 'assets'))).filter((name) => TYPES.has(extname(name)))
  const assets = await Promise.all(
    names.map(async (name) => [name, await readAsset(join(folder, 'assets', name))] as const),
  )
  return { page: await readFile(join(folder, 'index.html'), 'utf8'), assets: new Map(assets) }
}

async function readAsset(path: string): Promise<Asset> {
  const bytes = await readFile(path)
  return { type: TYPES.get(extname(path))!, bytes, zipped: await zip(bytes) }
}
