/** Negotiates extensions: a client activates those that an agent declares. */
import { RESUME_EXTENSION } from '../../../a2a/resume.ts'
import { a2aError } from '../wire/errors.ts'
import type { AgentCardOptions } from '../wire/options.ts'
import type { AgentExtension } from '../wire/wire.ts'

export function extensionsOf({ extensions = [] }: AgentCardOptions): readonly AgentExtension[] {
  const resume = {
    uri: RESUME_EXTENSION,
    description: 'Each event has a position, and a subscription can begin after one.',
  }
  return [resume, ...extensions]
}

/** The active extensions. Rejects a request that lacks a required one. */
export function activate(about: AgentCardOptions, named: readonly string[]): ReadonlySet<string> {
  const declared = extensionsOf(about)
  const missing = declared.find(({ uri, required }) => required === true && !named.includes(uri))
  if (missing !== undefined)
    throw a2aError(
      'EXTENSION_SUPPORT_REQUIRED',
      `this agent requires the extension ${missing.uri}: add it to A2A-Extensions`,
      {
        extension: missing.uri,
      },
    )
  return new Set(declared.map(({ uri }) => uri).filter((uri) => named.includes(uri)))
}

export function parseNames(header: string | readonly string[] | undefined): string[] {
  const text = typeof header === 'string' ? header : (header ?? []).join(',')
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}
