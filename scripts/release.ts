/**
 * Releases the version in package.json, without publishing it: `npm run release [-- --dry-run]` checks, dates the changelog, packs,
 * commits and tags. `npm run release -- --next 0.3.0` begins the next version afterwards. Steps: CONTRIBUTING.md.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { command, Failure, root, runSteps, type Step } from './command.ts'
import { sectionsOf, unreleased, versionedFiles, versionsIn, withDate, withNext, withVersion } from './release-files.ts'

const { values } = parseArgs({ options: { 'dry-run': { type: 'boolean', default: false }, next: { type: 'string' } } })
const isDryRun = values['dry-run']

const CHANGELOG = 'CHANGELOG.md'
/** Outside `dist`, which is part of the package. */
const PACKED = 'release'

const read = (file: string): string => readFileSync(join(root, file), 'utf8')

/** Writes the file, or reports it in a dry run. */
function write(file: string, text: string): void {
  if (!isDryRun) writeFileSync(join(root, file), text)
}

runSteps(isDryRun ? 'release (dry run)' : 'release', values.next === undefined ? release() : begin(values.next))

function release(): Step[] {
  const version = versionsIn('package.json', read('package.json'))[0]!
  const date = new Date().toISOString().slice(0, 10)
  return [
    { name: 'versions', run: () => sameVersions(version) },
    { name: 'changelog', run: () => `${unreleased(read(CHANGELOG), version).body.split('\n').length} lines` },
    { name: 'git', run: () => cleanTree(version) },
    { name: 'check', run: () => void command(['npm', 'run', 'check'], { timeoutMs: CHECK_MS_MAX }) },
    { name: 'date', run: () => (write(CHANGELOG, withDate(read(CHANGELOG), version, date)), date) },
    { name: 'pack', run: pack },
    { name: 'tag', run: () => tag(version) },
  ]
}

/** Format, lint, types, build and the packed package take minutes on a small machine. */
const CHECK_MS_MAX = 1_800_000

function sameVersions(version: string): string {
  for (const file of versionedFiles) {
    const other = versionsIn(file, read(file)).find((found) => found !== version)
    if (other !== undefined) throw new Failure(`${file} says ${other}, package.json says ${version}`)
  }
  return version
}

/** Requires a clean working tree and an unused tag. */
function cleanTree(version: string): void {
  const changed = command(['git', 'status', '--porcelain']).trim()
  if (changed !== '' && !isDryRun) throw new Failure(`commit or stash these first:\n${changed}`)
  if (command(['git', 'tag', '--list', `v${version}`]).trim() !== '')
    throw new Failure(`the tag v${version} already exists`)
}

function pack(): string {
  const folder = join(root, PACKED)
  mkdirSync(folder, { recursive: true })
  const printed = command(['npm', 'pack', '--ignore-scripts', '--json', '--pack-destination', folder])
  const [packed] = JSON.parse(printed) as [{ filename: string; shasum: string; files: unknown[] }]
  return `${PACKED}/${packed.filename}, ${packed.files.length} files, sha1 ${packed.shasum}`
}

/** The tag message is the changelog section; git would drop headings as comments. */
function tag(version: string): string {
  const message = `Holdfast ${version}\n\n${sectionsOf(read(CHANGELOG))[0]!.body}\n`
  if (isDryRun) return `v${version}, not made: dry run`
  command(['git', 'commit', '--quiet', '--message', `chore(release): ${version}`, '--', CHANGELOG])
  command(['git', 'tag', '--annotate', `v${version}`, '--cleanup=verbatim', '--message', message])
  return `v${version}. To publish: git push --follow-tags, then npm publish of the packed file`
}

function begin(next: string): Step[] {
  return [
    { name: 'changelog', run: () => write(CHANGELOG, withNext(read(CHANGELOG), next)) },
    {
      name: 'versions',
      run: () => {
        for (const file of versionedFiles) write(file, withVersion(file, read(file), next))
        return isDryRun ? `${next}, not written: dry run` : next
      },
    },
  ]
}
