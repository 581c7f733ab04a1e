/** Loads the modules that execute runs at first use: a server listens sooner without them. */

type ExecutionModules = typeof import('./execution-modules.ts')

let modules: ExecutionModules | undefined

/** Returns the modules without a promise once they are loaded, so that later runs pay nothing. */
export function loadExecution(): ExecutionModules | Promise<ExecutionModules> {
  return modules ?? import('./execution-modules.ts').then((loaded) => (modules = loaded))
}
