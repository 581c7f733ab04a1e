/** `holdfast/testing`: runs a component in a test, and provides an agent that executes the script in its input. */
export { labAgent, type LabOptions } from '../agents/lab/agent.ts'
export { labComponents, labTeam, labWorkflow } from '../agents/lab/kinds.ts'
export { createFakeClock, type FakeClock } from './fake-clock.ts'
export { type EndedRun, runToEnd, type RunToEndOptions, type TestAnswers, type TestToolCall } from './run-to-end.ts'
