/** Workflows: `workflow` and its building blocks. */
export { condition, loop, parallel, router, step, steps } from './blocks.ts'
export type {
  AnyStep,
  Choice,
  Confirmation,
  FlowFacts,
  LoopFacts,
  OnError,
  Retry,
  Review,
  StepContext,
  StepFunction,
  StepOptions,
  StepQuestion,
  WorkflowStep,
} from './definition.ts'
export { type Workflow, workflow, type WorkflowDefinition } from './workflow.ts'
