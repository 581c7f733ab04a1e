/** A redaction could not be applied. Nothing of the value is in the message, and the value is not written. */
import { RunFailure } from '../execution/run-failure.ts'

export class RedactionFailure extends RunFailure {
  constructor(what: string, problem: string) {
    super('internal', `the ${what} of \`redact\` ${problem}; the value was not written`)
  }
}
