/** Converts the caller's request fields to form fields for the remote AgentOS. */
import type { RunContext } from '../../core/ports/component.ts'
import { textOf } from '../shared/text-of.ts'

export type FormFields = Readonly<Record<string, string>>

/** Run metadata of the AgentOS protocol that is meant for this server. */
const OWN = new Set(['stream_events', 'run_id', 'regenerated_from', 'forked_from_run_id'])

/** The request fields of an AgentOS client, such as `session_state`, and the run's metadata. */
export function forwardedFields({ metadata }: RunContext, user: string | undefined): FormFields {
  const { agentos = {}, ...others } = metadata as { readonly agentos?: Readonly<Record<string, unknown>> }
  const given = Object.entries(agentos).filter(([name, value]) => !OWN.has(name) && value !== null)
  return {
    ...Object.fromEntries(given.map(([name, value]) => [name, fieldOf(value)])),
    ...(Object.keys(others).length > 0 && { metadata: JSON.stringify(others) }),
    ...(user !== undefined && { user_id: user }),
  }
}

function fieldOf(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

interface InputFile {
  readonly mediaType: string
  readonly data?: string
  readonly url?: string
  readonly name?: string
}

export interface RemoteInput {
  readonly message: string
  readonly files: readonly InputFile[]
}

/** Text and files of a run's input. Files that are only known by their URL are named in the text. */
export function remoteInput(input: unknown): RemoteInput {
  const { files } = (typeof input === 'object' && input !== null ? input : {}) as { readonly files?: unknown }
  if (!Array.isArray(files)) return { message: textOf(input), files: [] }
  const given = files as readonly InputFile[]
  const links = given.flatMap(({ url }) => (url === undefined ? [] : [url]))
  return {
    message: [textOf(input), ...links].join('\n'),
    files: given.filter(({ data }) => data !== undefined),
  }
}

/** A form, with files as multipart. */
export function formOf(fields: FormFields, files: readonly InputFile[]): URLSearchParams | FormData {
  if (files.length === 0) return new URLSearchParams(fields)
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  for (const { name = 'file', mediaType, data = '' } of files)
    form.append('files', new Blob([Buffer.from(data, 'base64')], { type: mediaType }), name)
  return form
}
