/** Parses the address of a NATS store, and formats it without secrets. */
import type { OpenNatsOptions } from '../../stores/nats/options.ts'

/** The options that an address can express; others need code. */
export interface NatsConfig extends Omit<OpenNatsOptions, 'requestTimeoutMs' | 'clock' | 'logger'> {
  readonly kind: 'nats'
}

const FORM = 'use nats://USER:PASSWORD@HOST:PORT,HOST:PORT or tls://…'
const PARAMETERS = ['name', 'replicas', 'partitions', 'cluster', 'tags', 'sync', 'monitor']

/** Not a URL, since it can have several hosts. Errors never repeat the address, which may contain a password. */
export function toNats(text: string): NatsConfig {
  const [, scheme, credentials, hosts = '', search = ''] =
    /^(nats|tls):\/\/(?:([^@/?]*)@)?([^@/?]+)\/?(?:\?(.*))?$/.exec(text) ?? []
  const servers = hosts.split(',').map((host) => toServer(host))
  const parameters = new URLSearchParams(search)
  for (const name of parameters.keys())
    if (!PARAMETERS.includes(name))
      throw new Error(`unknown parameter ${JSON.stringify(name)}: use ${PARAMETERS.join(', ')}`)
  const parameter = (name: string): string | undefined => parameters.get(name) ?? undefined
  const [name, cluster, tags, monitor] = [
    parameter('name'),
    parameter('cluster'),
    parameter('tags'),
    parameter('monitor'),
  ]
  const [replicas, partitions] = [parameter('replicas'), parameter('partitions')]
  return {
    kind: 'nats',
    servers,
    ...(scheme === 'tls' && { tls: true }),
    ...toCredentials(credentials),
    ...(name !== undefined && { name }),
    ...(replicas !== undefined && { replicas: toNumber('replicas', replicas, 5) }),
    ...(partitions !== undefined && { partitions: toNumber('partitions', partitions, 256) }),
    ...(cluster !== undefined && { cluster }),
    ...(tags !== undefined && { tags: tags.split(',') }),
    ...toSync(parameter('sync'), monitor),
  }
}

export function natsText({ servers, name, tls = false }: NatsConfig): string {
  return `${tls ? 'tls' : 'nats'}://${servers.join(',')}${name === undefined ? '' : `?name=${name}`}`
}

const PORT = 4222

function toServer(host: string): string {
  const [, address, port = PORT] = /^([a-z0-9.-]+|\[[0-9a-f:]+\])(?::(\d{1,5}))?$/i.exec(host) ?? []
  if (address === undefined) throw new Error(`not an address: ${FORM}`)
  return `${address}:${port}`
}

function toCredentials(text: string | undefined): Pick<NatsConfig, 'user' | 'password' | 'token'> {
  if (text === undefined) return {}
  const [user = '', password] = text.split(':').map((part) => decodeURIComponent(part))
  return password === undefined ? { token: user } : { user, password }
}

function toNumber(name: string, text: string, max: number): number {
  const count = Number(text)
  if (Number.isInteger(count) && count >= 1 && count <= max) return count
  throw new Error(`${name}=${text} is not a number from 1 to ${max}`)
}

/** Only the monitoring endpoint reports the server's sync interval. */
function toSync(sync: string | undefined, monitor: string | undefined): Pick<NatsConfig, 'sync' | 'monitor'> {
  if (sync !== undefined && sync !== 'always') throw new Error(`unknown value sync=${sync}: use sync=always`)
  if (sync !== undefined && monitor === undefined)
    throw new Error(
      'sync=always needs monitor=http://HOST:PORT, the monitoring endpoint that reports the sync interval',
    )
  if (monitor !== undefined && !(URL.canParse(monitor) && /^https?:$/.test(new URL(monitor).protocol)))
    throw new Error('monitor is not an address: use http://HOST:PORT')
  return { ...(sync !== undefined && { sync }), ...(monitor !== undefined && { monitor }) }
}
