/** A redaction that could not be applied. The value is neither in the message nor written. */
import { RunFailure } from '../execution/run-failure.ts'

export class RedactionFailure extends RunFailure {
  constructor(what: string, problem: string) {
    super('internal', `the ${what} of \`redact\` ${problem}; the value was not written`)
  }
}
