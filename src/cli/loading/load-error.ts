/** Explains why a user's module fails to load, with the source location. */
import { execFile } from 'node:child_process'
import { dirname, isAbsolute, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { messageOf } from '../../core/model/errors.ts'
import { ownCode } from '../own-code.ts'
import { codeFrame, linesOf, type SourceLocation } from './source-location.ts'

/** Maximum files to check for a syntax error that Node reports without a location. */
const CHECKED_MAX = 50
const CHECK_MS_MAX = 5000

/** Stack frames of this package are skipped. */
const OWN = fileURLToPath(ownCode)

/** The message, followed by a code frame if the location is known. */
export async function describeLoadError(path: string, cause: unknown): Promise<string> {
  const stack = cause instanceof Error ? (cause.stack ?? '') : ''
  const location =
    locationInHeader(stack) ??
    locationOfImport(cause) ??
    locationInFrames(stack) ??
    (await locationOfSyntaxError(path, cause))
  const message = messageOf(cause)
  return location === undefined ? message : `${message}\n\n${codeFrame(location)}\n`
}

/** For some errors, Node prints the location before the stack: file and line, the source line, and carets. */
function locationInHeader(stack: string): SourceLocation | undefined {
  const [head = '', ...rest] = stack.split('\n')
  const [, address, line] = /^(.+):(\d+)$/.exec(head) ?? []
  const path = address === undefined ? undefined : pathOf(address)
  const caret = rest.find((text) => /^\s*\^+\s*$/.test(text))
  if (path === undefined || caret === undefined) return undefined
  return { path, line: Number(line), column: caret.indexOf('^') + 1 }
}

/** The import statement of a module that was not found. */
function locationOfImport(cause: unknown): SourceLocation | undefined {
  const [, missing, importer] = /'([^']+)' .*imported from (.+)$/m.exec(messageOf(cause)) ?? []
  const path = importer === undefined ? undefined : pathOf(importer)
  if (missing === undefined || path === undefined || path.startsWith(OWN)) return undefined
  for (const { specifier, ...location } of importsIn(path)) {
    const isMeant = specifier.startsWith('.')
      ? resolve(dirname(path), specifier) === (pathOf(missing) ?? missing)
      : specifier === missing || specifier.startsWith(`${missing}/`) || pathOf(specifier) === missing
    if (isMeant) return { path, ...location }
  }
  return undefined
}

/** The first stack frame in a user module. */
function locationInFrames(stack: string): SourceLocation | undefined {
  for (const frame of stack.split('\n')) {
    const [, address, line, column] = /^\s+at (?:.*\()?((?:file:|\/|[A-Za-z]:\\).*?):(\d+):(\d+)\)?$/.exec(frame) ?? []
    const path = address === undefined ? undefined : pathOf(address.replace(/\?.*$/, ''))
    if (path !== undefined && !path.startsWith(OWN) && !path.includes('node_modules'))
      return { path, line: Number(line), column: Number(column) }
  }
  return undefined
}

/** Node does not report the location of a syntax error in an ES module, so each candidate file is checked separately. */
async function locationOfSyntaxError(entry: string, cause: unknown): Promise<SourceLocation | undefined> {
  if (!(cause instanceof SyntaxError)) return undefined
  const found = new Set([entry])
  for (const path of found) {
    const location = locationInHeader(await syntaxErrorOf(path))
    if (location !== undefined) return location
    for (const { specifier } of importsIn(path))
      if (specifier.startsWith('.') && found.size < CHECKED_MAX) found.add(resolve(dirname(path), specifier))
  }
  return undefined
}

function syntaxErrorOf(path: string): Promise<string> {
  return new Promise((done) => {
    execFile(process.execPath, ['--check', path], { timeout: CHECK_MS_MAX }, (_error, _stdout, stderr) => done(stderr))
  })
}

interface Import {
  readonly specifier: string
  readonly line: number
  readonly column: number
}

function importsIn(path: string): Import[] {
  const specifiers = /\b(?:from|import|require)\s*\(?\s*(["'])([^"'\n]+)\1/g
  return (linesOf(path) ?? []).flatMap((text, index) =>
    [...text.matchAll(specifiers)].map((match) => {
      const specifier = match[2]!
      return { specifier, line: index + 1, column: match.index + match[0].lastIndexOf(specifier) }
    }),
  )
}

function pathOf(address: string): string | undefined {
  if (address.startsWith('file:')) return URL.canParse(address) ? fileURLToPath(address) : undefined
  return isAbsolute(address) ? address : undefined
}
