/** `node scripts/gen-errors-doc.ts`: generates docs/errors.md from the table of error codes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { errorTable } from '../src/core/model/errors.ts'
import { root } from './command.ts'

export const errorsPagePath = join(root, 'docs', 'errors.md')

export function errorsPage(): string {
  const rows = Object.entries(errorTable).map(([code, { status, retryable, meaning }]) => {
    return `| \`${code}\` | ${status} | ${retryable ? 'yes' : 'no'} | ${meaning} |`
  })
  return `${INTRODUCTION}\n${['| code | status | retry | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n')}\n`
}

const INTRODUCTION = `# Errors

<!-- Written by scripts/gen-errors-doc.ts from src/core/model/errors.ts. Change it there. -->

Every expected failure has one of these codes. Decide by the code, never by the message.

- A refused request gets the status, and the code in the body of its protocol. The native protocol uses problem JSON (RFC 9457) with \`code\`,
  \`detail\`, \`retryable\`, \`requestId\` and sometimes \`details\`.
- A failed run has the code in \`data.error.code\` of its \`run.failed\`. An agent that yields \`run.failed\` itself may use its own code.
- After a stream has started, an error is a frame of the stream and not a status: see [events.md](events.md).

If *retry* is yes, the same request may succeed later. \`Retry-After\` says when, if known.
`

if (import.meta.main) writeFileSync(errorsPagePath, errorsPage())
