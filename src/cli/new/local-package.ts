/** Detects and packs a package that npm cannot install by name: a checkout, or one installed from a tarball. */
import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { promisify } from 'node:util'
import { HoldfastError, messageOf } from '../../core/model/errors.ts'
import type { CommandIo } from '../io.ts'

/** A checkout builds before it is packed. */
const PACK_MS = 5 * 60_000

/** `root`: folder of the package. */
export function isLocalPackage(root: string): boolean {
  return isCheckout(root) || isFromFile(root)
}

function isCheckout(root: string): boolean {
  return existsSync(join(root, 'tsconfig.build.json'))
}

/** npm records where each installed package came from. */
function isFromFile(root: string): boolean {
  const lock = join(root, '../.package-lock.json')
  if (!existsSync(lock)) return false
  const { packages } = JSON.parse(readFileSync(lock, 'utf8')) as {
    readonly packages?: Readonly<Record<string, { readonly resolved?: string; readonly link?: boolean }>>
  }
  const { resolved = '', link = false } = packages?.[`node_modules/${basename(root)}`] ?? {}
  return link || resolved.startsWith('file:')
}

/** Packs it into `vendor` of the project. Returns the dependency: `file:vendor/holdfast-0.3.0.tgz`. */
export async function packInto(directory: string, root: string, io: CommandIo): Promise<string> {
  const vendor = resolve(directory, 'vendor')
  mkdirSync(vendor)
  const isBuilt = !isCheckout(root)
  io.stderr.write(
    `Packing the local package into ${join(directory, 'vendor')}${isBuilt ? '' : ', which builds it first'}\n`,
  )
  const flags = ['pack', '--json', '--pack-destination', vendor, ...(isBuilt ? ['--ignore-scripts'] : [])]
  try {
    await promisify(execFile)('npm', flags, { cwd: root, timeout: PACK_MS, maxBuffer: 64 * 1024 * 1024 })
  } catch (cause) {
    throw new HoldfastError('unsupported', `failed to pack the package in ${root}: ${messageOf(cause)}`, { cause })
  }
  const { name, version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Readonly<
    Record<string, string>
  >
  return `file:vendor/${name}-${version}.tgz`
}
