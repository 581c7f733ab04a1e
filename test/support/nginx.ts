/** A real nginx with one server. */
import { spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ensureAptPackage } from './apt.ts'
import { freePort } from './free-port.ts'
import { temporaryFolder } from './temporary.ts'
import { until } from './until.ts'

const PROGRAM = '/usr/sbin/nginx'

/** `locations`: what its server contains. Returns its address; stopped after the test. */
export async function startNginx(locations: string): Promise<string> {
  await ensureAptPackage('nginx-light', PROGRAM)
  const folder = temporaryFolder()
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
events {}
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
  const exited = new Promise((resolve) => child.once('exit', resolve))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await exited
  })
  const url = `http://127.0.0.1:${port}`
  await until('nginx accepts connections', () =>
    fetch(url).then(
      () => true,
      () => false,
    ),
  )
  return url
}
