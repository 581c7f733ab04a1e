/** Loads what executes runs at its first use, because a server listens sooner without it. */

type ExecutionModules = typeof import('./execution-modules.ts')

let modules: ExecutionModules | undefined

/** Not a promise once it is loaded: then it costs a run nothing. */
export function loadExecution(): ExecutionModules | Promise<ExecutionModules> {
  return modules ?? import('./execution-modules.ts').then((loaded) => (modules = loaded))
}
