/** Decodes and verifies rows of `documents`. */
import type { Document } from '../../../core/model/document.ts'
import { HoldfastError } from '../../../core/model/errors.ts'
import { type Field, fieldsChecksum, fits } from './checksum.ts'

type Row = Record<string, unknown>

const NAME = ['owner', 'collection', 'id'] as const
/** In the order in which `DocumentWrites` passes them to `checksum`. */
const CONTENT = [...NAME, 'label', 'title', 'search', 'version', 'created', 'body']
const TOUCHED = [...NAME, 'updated']

export function isSoundDocument(row: Row): boolean {
  return fits(row['crc'], () => checksumIn(row, CONTENT)) && fits(row['touched'], () => checksumIn(row, TOUCHED))
}

/** Undefined for a damaged row. */
export function documentIn(row: Row): Document | undefined {
  if (!isSoundDocument(row)) return undefined
  const { label, title } = row as { readonly label: string | null; readonly title: string | null }
  const body = parseBody(row['body'] as string)
  return (
    body && {
      owner: row['owner'] as string,
      collection: row['collection'] as string,
      id: row['id'] as string,
      ...(label !== null && { label }),
      ...(title !== null && { title }),
      ...body,
      version: row['version'] as number,
      createdAt: row['created'] as string,
      updatedAt: row['updated'] as string,
    }
  )
}

export function documentDamage(collection: string, id: string): HoldfastError {
  return new HoldfastError('log_damaged', `document ${id} of ${collection} is damaged: replace it or remove it`)
}

function checksumIn(row: Row, columns: readonly string[]): number {
  return fieldsChecksum(columns.map((column) => row[column] as Field))
}

/** Undefined for invalid JSON, which a row without a checksum may contain. */
function parseBody(json: string): { readonly body: unknown } | undefined {
  try {
    return { body: JSON.parse(json) as unknown }
  } catch {
    return undefined
  }
}
