/** `node scripts/gen-errors-doc.ts`: generates docs/errors.md from the tables of codes. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { upstreamCodes } from '../src/agents/shared/upstream-codes.ts'
import { type ErrorEntry, errorTable } from '../src/core/model/errors.ts'
import { root } from './command.ts'

export const errorsPagePath = join(root, 'docs', 'errors.md')

export function errorsPage(): string {
  const entries: readonly (readonly [string, ErrorEntry])[] = Object.entries(errorTable)
  const failures = Object.entries(upstreamCodes).map(([code, meaning]) => `| \`${code}\` | ${meaning} |`)
  return [
    INTRODUCTION,
    ...HEAD,
    ...entries.filter(([, { internal }]) => internal === undefined).map(rowOf),
    FAILURES,
    '| code | meaning |',
    '| --- | --- |',
    '| `rejected` | A person rejected a workflow step, or its manual retries are used up; details.step names it. |',
    ...failures,
    INTERNAL,
    ...HEAD,
    ...entries.filter(([, { internal }]) => internal === true).map(rowOf),
    '',
  ].join('\n')
}

function rowOf([code, { status, retryable, meaning }]: readonly [string, ErrorEntry]): string {
  return `| \`${code}\` | ${status} | ${retryable ? 'yes' : 'no'} | ${meaning} |`
}

const HEAD = ['| code | status | retry | meaning |', '| --- | --- | --- | --- |']

const INTRODUCTION = `# Errors

<!-- Written by scripts/gen-errors-doc.ts from src/core/model/errors.ts and src/agents/shared/upstream-codes.ts. Change it there. -->

Every expected failure has a code of this page. Decide by the code, never by the message.

- A refused request gets the status, and the code in the body of its protocol. The native protocol uses problem JSON (RFC 9457) with \`code\`,
  \`detail\`, \`retryable\`, \`requestId\` and sometimes \`details\`.
- A failed run has the code in \`data.error.code\` of its \`run.failed\`. An agent that yields \`run.failed\` itself may use its own code.
- After a stream has started, an error is a frame of the stream and not a status: see [events.md](events.md).

If *retry* is yes, the same request may succeed later. \`Retry-After\` says when, if known.
`

const FAILURES = `
## Failures of workflows and upstreams

Only a run can fail with these. \`data.error.retryable\` says whether another run may succeed. [gateway.md](gateway.md#how-runs-end) explains the codes of upstreams.
`

const INTERNAL = `
## Internal to stores

Store authors throw these. Clients never see them.
`

if (import.meta.main) writeFileSync(errorsPagePath, errorsPage())
