/** File changes of a release: version numbers and the changelog. Pure: text in, text out. */
import { Failure } from './command.ts'

/** Every file that contains the package version, with its locations. */
const versionPlaces: Readonly<Record<string, readonly RegExp[]>> = {
  'package.json': [/^( {2}"version": ")[^"]+(?=")/m],
  'package-lock.json': [/^( {2}"version": ")[^"]+(?=")/m, /^( {6}"version": ")[^"]+(?=")/m],
  'src/server/version.ts': [/(version: string = ')[^']+/],
  'deploy/kubernetes.yaml': [/(image: registry\.example\/holdfast:)\S+/],
}

export const versionedFiles: readonly string[] = Object.keys(versionPlaces)

/** Versions that a file names. */
export function versionsIn(file: string, text: string): string[] {
  return placesOf(file).map((pattern) => {
    const [found, before = ''] = pattern.exec(text) ?? []
    if (found === undefined) throw new Failure(`${file} contains no version`)
    return found.slice(before.length)
  })
}

export function withVersion(file: string, text: string, version: string): string {
  return placesOf(file).reduce(
    (changed, pattern) => changed.replace(pattern, (_, before: string) => before + version),
    text,
  )
}

function placesOf(file: string): readonly RegExp[] {
  const patterns = versionPlaces[file]
  if (patterns === undefined) throw new Failure(`${file} is not in the list of files with the version`)
  return patterns
}

export interface Section {
  readonly version: string
  /** ISO date of the release, `unreleased` or `not published`. */
  readonly date: string
  readonly body: string
}

const HEADING = /^## (\d+\.\d+\.\d+) \((unreleased|not published|\d{4}-\d{2}-\d{2})\)$/gm

/** Sections of the changelog, newest first. */
export function sectionsOf(changelog: string): Section[] {
  const headings = [...changelog.matchAll(HEADING)]
  return headings.map((heading, index) => {
    const [line, version = '', date = ''] = heading
    const end = headings[index + 1]?.index ?? changelog.length
    return { version, date, body: changelog.slice(heading.index + line.length, end).trim() }
  })
}

/** The unreleased section. Throws if it is missing or empty. */
export function unreleased(changelog: string, version: string): Section {
  const [newest] = sectionsOf(changelog)
  if (newest?.version !== version || newest.date !== 'unreleased')
    throw new Failure(`CHANGELOG.md must begin with "## ${version} (unreleased)"`)
  if (newest.body === '') throw new Failure(`CHANGELOG.md says nothing about ${version}`)
  return newest
}

export function withDate(changelog: string, version: string, date: string): string {
  unreleased(changelog, version)
  return changelog.replace(`## ${version} (unreleased)`, `## ${version} (${date})`)
}

/** Adds an empty section for the next version. */
export function withNext(changelog: string, version: string): string {
  const [newest] = sectionsOf(changelog)
  if (newest === undefined) throw new Failure('CHANGELOG.md has no section')
  if (newest.date === 'unreleased') throw new Failure(`${newest.version} is not released yet: add to its section`)
  if (!isLater(version, newest.version)) throw new Failure(`${version} is not later than ${newest.version}`)
  const heading = `## ${newest.version} (${newest.date})`
  return changelog.replace(heading, `## ${version} (unreleased)\n\n${heading}`)
}

function isLater(version: string, than: string): boolean {
  if (!/^\d+\.\d+\.\d+$/.test(version)) throw new Failure(`${JSON.stringify(version)} is not a version: use 1.2.3`)
  const [left, right] = [version, than].map((text) => text.split('.').map(Number))
  const differing = left!.findIndex((number, index) => number !== right![index])
  return differing >= 0 && left![differing]! > right![differing]!
}
