/**
 * A vitest reporter that writes the CPU time of each test file to `HOLDFAST_TEST_CPU_FILE`, highest first. `test/setup.ts` measures it.
 * Use: `HOLDFAST_TEST_CPU_FILE=cpu.json npx vitest run --reporter=default --reporter=./scripts/vitest-cpu.ts`
 */
import { writeFileSync } from 'node:fs'
import type { Reporter, TestModule } from 'vitest/node'

export default class CpuReporter implements Reporter {
  onTestRunEnd(modules: readonly TestModule[]): void {
    const path = process.env['HOLDFAST_TEST_CPU_FILE']
    if (path === undefined) throw new Error('the CPU reporter needs HOLDFAST_TEST_CPU_FILE, the file to write')
    const files = modules.flatMap((module) => {
      const { cpuMs } = module.meta() as { readonly cpuMs?: number }
      return cpuMs === undefined ? [] : [{ file: nameOf(module), cpuMs }]
    })
    writeFileSync(path, JSON.stringify(files.toSorted((left, right) => right.cpuMs - left.cpuMs)))
  }
}

/** Other projects run the same files again, with Holdfast mounted. */
function nameOf({ relativeModuleId, project }: TestModule): string {
  return ['shared', 'isolated'].includes(project.name) ? relativeModuleId : `${relativeModuleId} (${project.name})`
}
