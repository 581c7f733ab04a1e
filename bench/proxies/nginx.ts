/** nginx as a streaming proxy, as deploy/nginx.conf sets it up: one process, nothing buffered. */
import { startNginxProcess } from '../../test/support/nginx-process.ts'
import { type Proxy, usageOf } from './proxy.ts'

export async function nginxProxy(upstreamPort: number, folder: string): Promise<Proxy> {
  const { port, pid, stop } = await startNginxProcess(
    `location / {
proxy_pass http://127.0.0.1:${upstreamPort};
proxy_http_version 1.1;
proxy_set_header Connection '';
proxy_buffering off;
proxy_cache off;
}`,
    folder,
  )
  return { port, stop, usage: () => Promise.resolve(usageOf(pid)) }
}
