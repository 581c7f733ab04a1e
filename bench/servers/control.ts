/** Control protocol of all measured servers. */
import type { Gate } from '../agent.ts'
import { answer, ready } from '../ipc-child.ts'
import type { ServerCommand, Usage } from '../messages.ts'

export function takeCommands(port: number, gate: Gate, stop: () => Promise<void> | void): void {
  answer((command: ServerCommand) => {
    switch (command.kind) {
      case 'usage':
        return usage()
      case 'go':
        return gate.open(command.runs)
      case 'collect garbage':
        return collectGarbage()
      case 'stop':
        setImmediate(() => void Promise.resolve(stop()).finally(() => process.exit()))
    }
  })
  ready(port)
}

function usage(): Usage {
  const { user, system } = process.cpuUsage()
  const main = process.threadCpuUsage()
  return { cpuMicros: user + system, mainThreadMicros: main.user + main.system, rssBytes: process.memoryUsage.rss() }
}

/** Needs --expose-gc. Twice, because finalizers hold objects during the first. */
async function collectGarbage(): Promise<void> {
  for (let pass = 0; pass < 2; pass++) {
    globalThis.gc!()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
