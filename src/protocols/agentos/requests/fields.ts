/** Reads request fields, with validation errors in the format of FastAPI. */
import { HoldfastError } from '../../../core/model/errors.ts'
import { parseJson } from '../../../http/request/json.ts'
import { fieldError } from '../wire/errors.ts'
import { asText } from '../wire/shapes.ts'

export type Fields = Readonly<Record<string, unknown>>

/** Treats an empty string as absent. */
export function textField(fields: Fields, name: string): string | undefined {
  const value = fields[name]
  if (value === undefined || value === null || value === '') return undefined
  if (typeof value !== 'string') throw fieldError('body', name, 'string_type', 'Input should be a valid string')
  return value
}

/** A string used as a name or id. */
export function nameField(fields: Fields, name: string, maxChars: number): string | undefined {
  const value = textField(fields, name)
  if (value !== undefined && value.length > maxChars)
    throw fieldError('body', name, 'string_too_long', `String should have at most ${maxChars} characters`)
  return value
}

const TRUE = new Set(['true', '1', 'on', 'yes', 't', 'y'])
const FALSE = new Set(['false', '0', 'off', 'no', 'f', 'n'])

export function switchField(fields: Fields, name: string, fallback: boolean): boolean {
  const value = fields[name]
  if (value === undefined || value === null || value === '') return fallback
  const text = asText(value).toLowerCase()
  if (TRUE.has(text)) return true
  if (FALSE.has(text)) return false
  throw fieldError('body', name, 'bool_parsing', 'Input should be a valid boolean, unable to interpret input')
}

export function integerField(fields: Fields, name: string, where: 'body' | 'query' = 'body'): number | undefined {
  const value = fields[name]
  if (value === undefined || value === null || value === '') return undefined
  if (/^-?\d{1,15}$/.test(asText(value))) return Number(value)
  throw fieldError(where, name, 'int_parsing', 'Input should be a valid integer, unable to parse string as an integer')
}

/** A time in seconds. Unlike the reference server, accepts fractions, to page through runs of the same second. */
export function secondsField(fields: Fields, name: string): number | undefined {
  const value = fields[name]
  if (value === undefined || value === null || value === '') return undefined
  if (/^-?\d{1,12}(?:\.\d{1,3})?$/.test(asText(value))) return Number(value)
  throw fieldError(
    'query',
    name,
    'int_parsing',
    'Input should be a valid integer, unable to parse string as an integer',
  )
}

/** JSON: a string in a form, or a value in a JSON body. Invalid JSON is an error. */
export function jsonField(fields: Fields, name: string): unknown {
  const value = fields[name]
  if (typeof value !== 'string') return value ?? undefined
  if (value === '') return undefined
  return parseJson(value, name)
}

export function objectField(fields: Fields, name: string): Readonly<Record<string, unknown>> | undefined {
  const value = jsonField(fields, name)
  if (value === undefined) return undefined
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  throw new HoldfastError('invalid_request', `${name} must be a JSON object`)
}

export function listField(fields: Fields, name: string): readonly Fields[] | undefined {
  const value = jsonField(fields, name)
  if (value === undefined) return undefined
  if (Array.isArray(value) && value.every((item) => typeof item === 'object' && item !== null)) return value as Fields[]
  throw new HoldfastError('invalid_request', `${name} must be a JSON array of objects`)
}

export function queryFields(query: URLSearchParams): Fields {
  return Object.fromEntries(query)
}
