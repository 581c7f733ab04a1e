/** The import rule as a table, and a check that lists violations. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'
import { type ImportedModule, importsOf } from '../../scripts/imports.ts'

/**
 * Allowed imports of each part, besides itself. Under `x/*` every file or folder of x is a part of its own: siblings may not import each other.
 * A folder name alone stands for all that is in it, and `type:` for types only.
 */
export const layers: Readonly<Record<string, readonly string[]>> = {
  core: ['core/structure', 'core/model', 'core/ports', 'core/redaction', 'core/runtime', 'core/schema'],
  // Data and pure functions.
  'core/model': ['core/structure', 'type:core/ports'],
  // Interfaces, and the values of theirs that implementations need.
  'core/ports': ['core/model', 'type:core/redaction'],
  'core/redaction': ['core', 'core/structure'],
  'core/runtime': ['core/model', 'core/structure', 'type:core'],
  'core/schema': ['core/model', 'type:core/ports'],
  // The structure of a log, for every part that shows one: servers, clients and pages.
  'core/structure': ['type:core'],
  sse: [],
  client: ['sse', 'type:core', 'core/structure'],
  react: ['client'],
  a2a: ['client', 'sse'],
  'ai-sdk': ['client', 'sse', 'type:core', 'core/structure'],
  'ag-ui': [],
  http: ['core', 'sse'],
  'agents/shared': ['core', 'sse', 'client'],
  'agents/agent': ['core', 'agents/shared', 'agents/model'],
  'agents/ai-agent': ['core', 'agents/shared', 'agents/model'],
  'agents/team': ['core', 'agents/shared', 'agents/model'],
  'agents/remote-a2a': ['core', 'agents/shared', 'a2a', 'client'],
  'agents/upstream': [
    'core',
    'sse',
    'client',
    'agents/shared',
    'agents/model',
    'agents/remote-a2a',
    'agents/remote-agentos',
  ],
  'agents/remote-agentos': ['core', 'agents/shared', 'client'],
  'agents/*': ['core', 'agents/shared'],
  'stores/shared': ['core'],
  'stores/*': ['core', 'stores/shared'],
  // Shared between client and server, so that the protocol is described once.
  'protocols/a2a': ['core', 'sse', 'http', 'a2a'],
  'ai-sdk/server': ['core', 'mount', 'ai-sdk'],
  'protocols/ai-sdk': ['core', 'sse', 'http', 'ai-sdk'],
  'protocols/*': ['core', 'sse', 'http'],
  testing: ['core', 'sse', 'agents', 'mount'],
  server: ['core', 'sse', 'http', 'stores', 'agents', 'protocols', 'ai-sdk'],
  mount: ['core', 'http', 'server', 'client', 'type:ai-sdk'],
  'resumable-stream': ['core', 'client', 'mount'],
  'written-stream': ['core', 'client', 'mount'],
  'assistant-stream': ['client', 'written-stream'],
  'tanstack-ai': ['client', 'written-stream'],
  cli: ['core', 'server', 'client', 'agents'],
  ai: ['core', 'agents'],
  adapters: ['client', 'core', 'agents'],
  index: ['core', 'sse', 'http', 'stores', 'agents', 'protocols', 'server', 'mount', 'client', 'type:ai-sdk'],
}

/** Parts that run anywhere, a browser included: no package and no `node:` module. */
export const pure: readonly string[] = [
  'core',
  'core/model',
  'core/ports',
  'core/redaction',
  'core/runtime',
  'core/schema',
  'core/structure',
  'sse',
  'client',
]

export interface Edge {
  /** Paths below the source folder, such as `core/service.ts`. */
  readonly from: string
  /** The file that the specifier resolves to, or the specifier itself for a package or a missing file. */
  readonly to: string
  readonly kind: ImportedModule['kind']
  readonly where: 'source' | 'package' | 'nowhere'
}

/** Every import of every file of a source folder, except tests. */
export function edgesOf(folder: string): Edge[] {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /(?<!\.test|\.d)\.ts$/.test(file),
  )
  return files
    .toSorted()
    .flatMap((from) =>
      importsOf(readFileSync(join(folder, from), 'utf8')).flatMap((found) => resolve(folder, from, found) ?? []),
    )
}

function resolve(folder: string, from: string, { specifier, kind }: ImportedModule): Edge | undefined {
  if (!specifier.startsWith('.')) return { from, to: specifier, kind, where: 'package' }
  const to = normalize(join(dirname(from), specifier))
  // A file that is started or read by its address may be data, or the built name of a source beside it.
  if (kind === 'file' && !to.endsWith('.ts')) return undefined
  return { from, to, kind, where: existsSync(join(folder, to)) ? 'source' : 'nowhere' }
}

/** Each line names an import that breaks the rule, and why. */
export function violations(edges: readonly Edge[]): string[] {
  return edges.flatMap((edge) => {
    const problem = problemOf(edge)
    return problem === undefined ? [] : [`${edge.from} → ${edge.to}: ${problem}`]
  })
}

function problemOf(edge: Edge): string | undefined {
  const from = partOf(edge.from)
  if (from === undefined) return `no rule for ${edge.from}`
  if (edge.where === 'nowhere') return 'no such file'
  if (edge.where === 'package') return problemOfPackage(edge, from)
  const to = partOf(edge.to)
  if (to === undefined) return `no rule for ${edge.to}`
  if (to === from) return undefined
  const allowed = ruleOf(from)
  const names = [to, to.split('/')[0]!]
  if (names.some((name) => allowed.includes(name))) return undefined
  if (!names.some((name) => allowed.includes(`type:${name}`))) return `${from} may not import ${to}`
  return edge.kind === 'type' ? undefined : `${from} may import only types from ${to}`
}

/** Inside a bundle of an application the package is found by its name only. */
function isFromBundle({ from, to }: Edge): boolean {
  return from === 'mount/load-engine.ts' && to === 'holdfast/engine'
}

function problemOfPackage(edge: Edge, from: string): string | undefined {
  if (isFromBundle(edge)) return undefined
  if (/^holdfast(?:$|\/)/.test(edge.to)) return 'name the file, not the package it is part of'
  return pure.includes(from) ? `${from} imports no package and no node: module` : undefined
}

/** `core/service.ts` belongs to `core`; `core/structure/`, `stores/memory.ts` and all of `stores/sqlite/` are separate parts. */
function partOf(file: string): string | undefined {
  const [first = '', second = ''] = file.replace(/\.ts$/, '').split('/')
  if (`${first}/${second}` in layers) return `${first}/${second}`
  if (first in layers) return first
  return `${first}/*` in layers && second !== '' ? `${first}/${second}` : undefined
}

function ruleOf(part: string): readonly string[] {
  return layers[part] ?? layers[`${part.split('/')[0]}/*`] ?? []
}

/** Files that need each other at run time: for each such group a walk round it. Late and worker imports count too. */
export function cycles(edges: readonly Edge[]): string[] {
  const next = Map.groupBy(
    edges.filter((edge) => edge.where === 'source' && edge.kind !== 'type'),
    (edge) => edge.from,
  )
  const done = new Set<string>()
  const found = new Set<string>()
  const walk = (file: string, path: readonly string[]): void => {
    const start = path.indexOf(file)
    if (start >= 0) found.add(fromSmallest(path.slice(start)).join(' → '))
    if (start >= 0 || done.has(file)) return
    for (const edge of next.get(file) ?? []) walk(edge.to, [...path, file])
    done.add(file)
  }
  for (const file of next.keys()) walk(file, [])
  return [...found]
}

/** The same cycle, wherever it was entered. */
function fromSmallest(cycle: readonly string[]): string[] {
  const start = cycle.indexOf(cycle.toSorted()[0]!)
  return [...cycle.slice(start), ...cycle.slice(0, start + 1)]
}

/** Packages that a source folder needs at run time or for its types, by name. */
export function packagesOf(edges: readonly Edge[]): string[] {
  const names = edges
    .filter((edge) => edge.where === 'package' && !isFromBundle(edge))
    .map((edge) => packageName(edge.to))
  return [...new Set(names)].filter((name) => !name.startsWith('node:')).toSorted()
}

function packageName(specifier: string): string {
  return specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')
}
