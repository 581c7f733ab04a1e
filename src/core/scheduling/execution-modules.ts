/** The modules that executing runs needs and serving does not. `load-execution.ts` loads them lazily. */
export { refusalOf, RunLog } from '../execution/run-log.ts'
export { redactRequested } from '../execution/encode-requested.ts'
export { releaseWithAnswers } from '../recovery/run-answers.ts'
export { proceedWithClaim } from '../recovery/proceed-with-claim.ts'
export { failUnstartable } from '../recovery/settle-run.ts'
export { redactorOf } from '../redaction/redactor.ts'
export { answerRun } from './answer-run.ts'
export { draftRun } from './draft-run.ts'
