/** A redaction that could not be applied. The value is not written, and not in the message. */
import { RunFailure } from '../execution/run-failure.ts'

export class RedactionFailure extends RunFailure {
  constructor(what: string, problem: string) {
    super('internal', `the ${what} of \`redact\` ${problem}; the value was not written`)
  }
}
