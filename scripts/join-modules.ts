/**
 * `node scripts/join-modules.ts FOLDER`: joins the compiled modules that a server loads before its first response. Finding, reading
 * and linking about 250 files was half of the CPU time of a start.
 *
 * Every module keeps its file, which then re-exports from the joined one: what others import, and what is loaded only when needed,
 * stays as it is. Modules are joined with those that the same kinds of programs load, so that a thread or an application that
 * imports `holdfast` loads nothing more than before.
 */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { rolldown } from 'rolldown'
import { Failure, root } from './command.ts'
import { importsOf } from './imports.ts'

/** What a server loads before it answers, also by dynamic imports. */
const START = [
  'cli/run-command.js',
  'cli/commands/demo.js',
  'cli/commands/serve.js',
  'cli/serving/host.js',
  'server/retention/retention.js',
  'stores/sqlite/store.js',
  'core/scheduling/execution-modules.js',
  'protocols/native/index.js',
  'protocols/native/routes/index.js',
]
const THREADS = [
  'stores/sqlite/committing/committing-worker.js',
  'stores/sqlite/reading/reading-worker.js',
  'server/event-loop/watchdog-thread.js',
]
/** Entry points of the package that are part of a server. */
const SERVER_ENTRIES = ['./server', './engine']
/** Entry points that a page could load, since they do not import Node, but never does. */
const NO_PAGE_ENTRIES = ['./stores', './stores/memory', './testing/stores']
/** Code of components stays in its files: stack frames distinguish errors of a component from those of the server. */
const COMPONENTS = ['agents/', 'cli/demo/']

const [given] = process.argv.slice(2)
if (given === undefined) throw new Failure('expected a folder of compiled modules')
const folder = resolve(given)
const imports = readImports()
const library = reachable(publicEntries(SERVER_ENTRIES))
const threads = reachable(THREADS)
const start = reachable(START)
/** Stays in its files, so that a page loads only what it uses. */
const browser = reachable(publicEntries([...SERVER_ENTRIES, ...NO_PAGE_ENTRIES]).filter(isForBrowsers))
const joined = [...start].filter(
  (file) => !browser.has(file) && !knowsItsPlace(file) && !COMPONENTS.some((prefix) => file.startsWith(prefix)),
)
checkOrder()
await write()
console.log(`${joined.length} modules`)

/** Static imports of each module: files of the folder, and packages by name. */
function readImports(): ReadonlyMap<string, readonly string[]> {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.js'))
  return new Map(
    files.map((file) => {
      const specifiers = importsOf(sourceOf(file)).flatMap(({ kind, specifier }) =>
        kind === 'value' ? [specifier] : [],
      )
      return [file, specifiers.map((each) => (each.startsWith('.') ? join(dirname(file), each) : each))]
    }),
  )
}

function sourceOf(file: string): string {
  return readFileSync(join(folder, file), 'utf8')
}

/** Compiled files of the package's entry points, except some. */
function publicEntries(except: readonly string[]): string[] {
  const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    exports: Record<string, unknown>
  }
  return Object.entries(exports).flatMap(([name, target]) => {
    const file = (target as { readonly default?: string }).default
    if (file?.endsWith('.js') !== true || except.includes(name)) return []
    return [file.slice('./dist/'.length)]
  })
}

/** The modules that are loaded with some others. */
function reachable(from: readonly string[]): ReadonlySet<string> {
  const found = new Set<string>()
  const waiting = [...from]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue
    const next = imports.get(file)
    if (next === undefined) throw new Failure(`${file} is not among the compiled modules`)
    found.add(file)
    waiting.push(...next.filter((name) => imports.has(name) || name.endsWith('.js')))
  }
  return found
}

/** Whether browsers can load it: nothing with it imports Node. */
function isForBrowsers(entry: string): boolean {
  return ![...reachable([entry])].some((file) => imports.get(file)!.some((name) => name.startsWith('node:')))
}

/** A module that finds other files by its own address cannot move. */
function knowsItsPlace(file: string): boolean {
  return sourceOf(file).includes('import.meta')
}

/** Which of the joined files a module belongs to: by the kinds of programs that load it. */
function groupOf(file: string): string {
  if (library.has(file)) return threads.has(file) ? 'shared' : 'library'
  return threads.has(file) ? 'threads' : 'server'
}

/** A module that stays and leads back to joined ones would be executed before these. */
function checkOrder(): void {
  const all = new Set(joined)
  const wrong = [...start].filter((file) => !all.has(file) && [...reachable([file])].some((other) => all.has(other)))
  if (wrong.length > 0) {
    throw new Failure(
      `these stay in their files, but import joined modules:\n${wrong.join('\n')}\nMove what stays to a module without imports.`,
    )
  }
}

async function write(): Promise<void> {
  const all = new Set(joined.map((file) => join(folder, file)))
  const bundle = await rolldown({
    input: Object.fromEntries(joined.map((file) => [file.slice(0, -'.js'.length), join(folder, file)])),
    external: (id, importer) => !all.has(id.startsWith('.') ? join(dirname(importer!), id) : id),
    platform: 'neutral',
    treeshake: false,
    preserveEntrySignatures: 'strict',
    checks: { ineffectiveDynamicImport: false },
    plugins: [{ name: 'source-maps', load: (id) => loadWithMap(id) }],
  })
  // In the order of the groups, none imports a later one: who loads a module also loads what it imports.
  const groups = ['shared', 'threads', 'library', 'server'].map((name, index) => ({
    name,
    priority: 10 - index,
    test: (id: string) => all.has(id) && groupOf(relative(folder, id)) === name,
  }))
  await bundle.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'joined/[name].js',
    sourcemap: true,
    codeSplitting: { groups },
  })
  await bundle.close()
  // Of modules that are in the joined files now.
  for (const file of joined) rmSync(join(folder, `${file}.map`), { force: true })
}

function loadWithMap(id: string): { code: string; map: string } | undefined {
  const file = relative(folder, id)
  if (!imports.has(file)) return undefined
  try {
    return { code: sourceOf(file), map: readFileSync(`${id}.map`, 'utf8') }
  } catch {
    return undefined // the bench compiles without source maps
  }
}
