/** `holdfast/testing`: run a component in a test, and an agent that does what its input says. */
export { labAgent, type LabOptions } from '../agents/lab/agent.ts'
export { labComponents, labTeam, labWorkflow } from '../agents/lab/kinds.ts'
export { createFakeClock, type FakeClock } from './fake-clock.ts'
export { type EndedRun, runToEnd, type RunToEndOptions, type TestAnswers, type TestToolCall } from './run-to-end.ts'
