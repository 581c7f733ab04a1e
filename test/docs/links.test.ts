/** Every relative link in a Markdown file leads to a file, and every anchor to a heading or an `id` in it. */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { expect, test } from 'vitest'

const root = join(import.meta.dirname, '../..')
const listed = ['ls-files', '--cached', '--others', '--exclude-standard', '*.md']
const pages = execFileSync('git', listed, { cwd: root, encoding: 'utf8' })
  .split('\n')
  .filter((page) => page !== '' && existsSync(join(root, page)))

/** The text without code, in which brackets and hashes mean something else. */
function prose(page: string): string {
  return readFileSync(join(root, page), 'utf8')
    .replaceAll(/^```[^]*?^```/gm, '')
    .replaceAll(/`[^`\n]*`/g, (code) => code.replaceAll(/[[\]()#]/g, ' '))
}

/** As GitHub makes them: lower case, without punctuation, a hyphen for each blank, numbered when repeated. */
function anchorsOf(page: string): Set<string> {
  const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[^]*?^```/gm, '')
  const anchors = new Set([...text.matchAll(/<a id="([^"]+)"/g)].map(([, id]) => id!))
  for (const [, heading] of text.matchAll(/^#{1,6} +(.+?) *$/gm)) {
    const words = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    const slug = words
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\p{M} _-]/gu, '')
      .replaceAll(' ', '-')
    let anchor = slug
    for (let number = 1; anchors.has(anchor); number++) anchor = `${slug}-${number}`
    anchors.add(anchor)
  }
  return anchors
}

function targetsOf(page: string): string[] {
  const text = prose(page)
  const links = [...text.matchAll(/\]\(<?([^)\s>]+)>?(?: "[^"]*")?\)/g)]
  const images = [...text.matchAll(/\b(?:src|srcset|href)="([^"]+)"/g)]
  return [...links, ...images].map(([, target]) => target!).filter((target) => !/^[a-z][a-z0-9+.-]*:/i.test(target))
}

function problemOf(page: string, target: string): string | undefined {
  const [path, anchor] = target.split('#') as [string, string?]
  const file = path === '' ? page : normalize(join(dirname(page), decodeURIComponent(path)))
  if (file.startsWith('..') || !existsSync(join(root, file))) return `${page}: ${target} leads to no file`
  if (anchor === undefined || !statSync(join(root, file)).isFile() || !file.endsWith('.md')) return undefined
  return anchorsOf(file).has(anchor) ? undefined : `${page}: ${target} leads to no heading`
}

test('every relative link and anchor in the Markdown files resolves', () => {
  expect(pages.length).toBeGreaterThan(40)
  const links = pages.flatMap((page) => targetsOf(page).map((target) => [page, target] as const))
  expect(links.length).toBeGreaterThan(200)
  expect(links.flatMap(([page, target]) => problemOf(page, target) ?? [])).toEqual([])
})

test('docs/README.md and the README.md of comparison and decisions list every page of docs', () => {
  const indexes = ['docs/README.md', 'docs/comparison/README.md', 'docs/decisions/README.md']
  const linked = new Set(
    indexes.flatMap((index) =>
      targetsOf(index).map((target) => normalize(join(dirname(index), target.split('#')[0]!))),
    ),
  )
  const unlisted = pages.filter(
    (page) => page.startsWith('docs/') && !linked.has(page) && !linked.has(dirname(page)) && page !== 'docs/README.md',
  )
  expect(unlisted).toEqual([])
})
