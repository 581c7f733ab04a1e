/** Loads the components that a module exports. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import type { Component } from '../../core/ports/component.ts'
import { HoldfastError } from '../../core/model/errors.ts'
import { describeLoadError } from './load-error.ts'
import { acceptModuleSyntax } from '../../agents/shared/module-syntax.ts'
import { codeFrame, linesOf, type SourceLocation } from './source-location.ts'

export async function loadComponents(file: string): Promise<Component[]> {
  const path = resolve(file)
  const entry = statSync(path, { throwIfNoEntry: false })
  if (entry?.isFile() !== true) {
    const what = entry === undefined ? 'the file does not exist' : 'it is not a file'
    throw new HoldfastError('invalid_request', `${file} cannot be loaded: ${what}`)
  }
  acceptModuleSyntax()
  let module: Record<string, unknown>
  try {
    module = (await import(pathToFileURL(path).href)) as Record<string, unknown>
  } catch (cause) {
    const why = await describeLoadError(path, cause)
    throw new HoldfastError('invalid_request', `${file} cannot be loaded: ${why}`, { cause })
  }
  const found = new Set(Object.values(module).flat().filter(isComponent))
  if (found.size === 0)
    throw new HoldfastError('invalid_request', `${file} exports no component; export the result of agent({ id, run })`)
  refuseSameIds(file, module, [...found])
  return [...found]
}

/** Reports duplicate ids with the export names and the source location, which the registry does not know. */
function refuseSameIds(
  file: string,
  module: Readonly<Record<string, unknown>>,
  components: readonly Component[],
): void {
  for (const [index, { id }] of components.entries()) {
    const first = components.findIndex((other) => other.id === id)
    if (first === index) continue
    const names = [components[first], components[index]].map((component) => exportOf(module, component))
    const location = locationOfId(resolve(file), id)
    const frame = location === undefined ? '' : `\n\n${codeFrame(location)}\n`
    throw new HoldfastError(
      'invalid_request',
      `${file} cannot be loaded: two components have the id ${id}, exported as ${names.join(' and ')}${frame}`,
    )
  }
}

function exportOf(module: Readonly<Record<string, unknown>>, component: unknown): string | undefined {
  return Object.keys(module).find((name) => [module[name]].flat().includes(component))
}

/** Location of the second literal occurrence of the id, if any. */
function locationOfId(path: string, id: string): SourceLocation | undefined {
  const locations = (linesOf(path) ?? []).flatMap((text, index) =>
    [...text.matchAll(/\bid['"]?\s*:\s*(["'`])(.*?)\1/g)]
      .filter((match) => match[2] === id)
      .map((match) => ({ path, line: index + 1, column: match.index + 1 })),
  )
  return locations[1]
}

function isComponent(value: unknown): value is Component {
  const candidate = value as Partial<Component> | null | undefined
  return typeof candidate?.id === 'string' && typeof candidate.kind === 'string' && typeof candidate.run === 'function'
}
