/** `node scripts/gen-errors-doc.ts`: writes docs/errors.md from the table of error codes. */
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

Everything that is expected to go wrong has one of these codes. Decide by the code, never by the message.

- A request that is refused is answered with the status, and with the code in the body of the protocol: in the native one as
  problem JSON (RFC 9457) with \`code\`, \`detail\`, \`retryable\`, \`requestId\` and sometimes \`details\`.
- A run that fails has the code in \`data.error.code\` of its \`run.failed\`. An agent that yields \`run.failed\` itself may use a code
  of its own.
- After a stream has begun, an error is a frame of it and not a status: see [events.md](events.md).

Where retry is yes, the same request may succeed later; \`Retry-After\` says when, where that is known.
`

if (import.meta.main) writeFileSync(errorsPagePath, errorsPage())
