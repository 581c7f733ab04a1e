/** Output of a release: versions and the changelog. */
import { readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import {
  sectionsOf,
  unreleased,
  versionedFiles,
  versionsIn,
  withDate,
  withNext,
  withVersion,
} from '../../scripts/release-files.ts'

const changelog = '# Changelog\n\nIntro.\n\n## 0.2.0 (unreleased)\n\n### Fixed\n\n- B\n\n## 0.1.0 (2026-01-02)\n\n- A\n'

describe('a release of this repository', () => {
  const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }

  test.each(versionedFiles)('release: %s names the version of package.json', (file) => {
    const text = readFileSync(file, 'utf8')
    expect(new Set(versionsIn(file, text))).toEqual(new Set([version]))
    const next = withVersion(file, text, '9.8.7')
    expect(new Set(versionsIn(file, next))).toEqual(new Set(['9.8.7']))
    expect(withVersion(file, next, version)).toBe(text)
  })

  test('release: the changelog begins with the version of package.json', () => {
    const [newest] = sectionsOf(readFileSync('CHANGELOG.md', 'utf8'))
    expect(newest?.version).toBe(version)
  })

  test('release: every heading of a version in the changelog is understood', () => {
    const text = readFileSync('CHANGELOG.md', 'utf8')
    expect(sectionsOf(text)).toHaveLength(text.match(/^## /gm)!.length)
  })
})

test('release: the date goes into the heading of the version, and nowhere else', () => {
  expect(withDate(changelog, '0.2.0', '2026-11-17')).toBe(changelog.replace('(unreleased)', '(2026-11-17)'))
})

test('release: the section of a version has no other section in it', () => {
  expect(unreleased(changelog, '0.2.0').body).toBe('### Fixed\n\n- B')
  expect(sectionsOf(changelog)).toHaveLength(2)
})

test.each([
  ['of another version', changelog, '0.3.0', 'must begin with "## 0.3.0 (unreleased)"'],
  ['that was released', changelog.replace('unreleased', '2026-02-03'), '0.2.0', 'must begin with'],
  ['that is empty', changelog.replace('### Fixed\n\n- B\n', ''), '0.2.0', 'says nothing about 0.2.0'],
])('release: a changelog section %s is refused', (_, text, version, message) => {
  expect(() => unreleased(text, version)).toThrow(message)
})

test('release: the next version begins an empty section', () => {
  const released = withDate(changelog, '0.2.0', '2026-11-17')
  const next = withNext(released, '0.10.0')
  expect(sectionsOf(next).map(({ version, date }) => [version, date])).toEqual([
    ['0.10.0', 'unreleased'],
    ['0.2.0', '2026-11-17'],
    ['0.1.0', '2026-01-02'],
  ])
  expect(() => withNext(changelog, '0.3.0')).toThrow('0.2.0 is not released yet')
  expect(() => withNext(released, '0.1.9')).toThrow('not later')
  expect(() => withNext(released, '0.2.0')).toThrow('not later')
  expect(() => withNext(released, 'next')).toThrow('"next" is not a version')
})
