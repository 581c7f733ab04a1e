/** LiteLLM's proxy, from PyPI in a virtual environment of its own. */
import { spawn } from 'node:child_process'
import { openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { root } from '../../scripts/command.ts'
import { freePort } from '../../test/support/free-port.ts'
import { ensurePython } from '../../test/support/python.ts'
import { type Proxy, usageOf } from './proxy.ts'

/** It imports for twenty seconds on an idle machine. */
const START_MS = 180_000

export async function liteLlmProxy(upstreamPort: number, folder: string): Promise<Proxy> {
  const python = await ensurePython(join(root, 'bench/proxies/requirements-litellm.txt'))
  const port = await freePort()
  const config = join(folder, 'litellm.yaml')
  writeFileSync(config, configFor(upstreamPort))
  const log = openSync(join(folder, 'litellm.log'), 'w')
  const args = ['--config', config, '--host', '127.0.0.1', '--port', String(port), '--telemetry', 'False']
  const child = spawn(join(python, '../litellm'), args, {
    stdio: ['ignore', log, log],
    env: {
      ...process.env,
      LITELLM_LOCAL_MODEL_COST_MAP: 'True',
      // Without a key it starts only so; here it serves nobody but the bench, on loopback.
      LITELLM_DANGEROUSLY_PERMIT_WEAK_OR_UNSET_MASTER_KEY: 'true',
      PYTHONDONTWRITEBYTECODE: '1',
    },
  })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
  }
  for (const since = performance.now(); performance.now() - since < START_MS; await wait(200)) {
    const response = await fetch(`http://127.0.0.1:${port}/health/liveliness`).catch(() => undefined)
    await response?.body?.cancel()
    if (response?.ok === true) return { port, stop, usage: () => Promise.resolve(usageOf(child.pid!)) }
    if (child.exitCode !== null) break
  }
  await stop()
  throw new Error('LiteLLM did not start')
}

function configFor(upstreamPort: number): string {
  return `model_list:
  - model_name: bench
    litellm_params:
      model: openai/bench
      api_base: http://127.0.0.1:${upstreamPort}/v1
      api_key: none
litellm_settings:
  telemetry: false
  num_retries: 0
`
}
