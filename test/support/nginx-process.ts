/** A real nginx with one server, as one process. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { ensureAptPackage } from './apt.ts'
import { freePort } from './free-port.ts'

const PROGRAM = '/usr/sbin/nginx'
const START_MS = 30_000

export interface NginxProcess {
  readonly port: number
  readonly pid: number
  readonly stop: () => Promise<void>
}

/** `locations`: what its server contains. `folder`: for its files. Installs nginx on Debian if it is missing. */
export async function startNginxProcess(locations: string, folder: string): Promise<NginxProcess> {
  await ensureAptPackage('nginx-light', PROGRAM)
  const port = await freePort()
  const temporary = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
    .map((name) => `${name}_temp_path ${join(folder, name)};`)
    .join('\n')
  const file = join(folder, 'nginx.conf')
  writeFileSync(
    file,
    `daemon off;
master_process off;
pid ${join(folder, 'nginx.pid')};
error_log stderr crit;
events { worker_connections 4096; }
http {
access_log off;
${temporary}
server {
listen 127.0.0.1:${port};
${locations}
}
}
`,
  )
  const child = spawn(PROGRAM, ['-c', file, '-p', folder], { stdio: ['ignore', 'ignore', 'inherit'] })
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()))
  const stop = async (): Promise<void> => {
    child.kill('SIGKILL')
    await exited
  }
  for (const since = performance.now(); performance.now() - since < START_MS; await wait(20)) {
    const response = await fetch(`http://127.0.0.1:${port}/`).catch(() => undefined)
    await response?.body?.cancel()
    if (response !== undefined) return { port, pid: child.pid!, stop }
    if (child.exitCode !== null) break
  }
  await stop()
  throw new Error(`nginx did not start at port ${port}`)
}
