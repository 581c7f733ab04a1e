/** Warns about insecure configurations. */
import { type Config, isLoopback } from './config.ts'

/** Each warning is one sentence that says what to do. */
export function configWarnings({
  auth,
  host,
  tls,
  store,
  secretKey,
}: Pick<Config, 'auth' | 'host' | 'tls' | 'store' | 'secretKey'>): string[] {
  const { jwt } = auth
  const sendsKeys = Object.keys(auth).length > 0
  return [
    ...(sendsKeys && tls === undefined && !isLoopback(host)
      ? [
          `credentials and prompts are sent to ${host} unencrypted: set --tls-cert and --tls-key, unless a proxy on this machine terminates TLS`,
        ]
      : []),
    ...(jwt !== undefined && jwt.audience === undefined
      ? ['tokens for other services of the issuer are accepted here too: set --jwt-audience']
      : []),
    ...(jwt?.requireExpiry === false
      ? ['tokens that never expire are accepted: remove --no-jwt-require-exp once the issuer sets exp']
      : []),
    ...(secretKey === undefined && (store.kind === 'postgres' || store.kind === 'nats')
      ? ['webhooks with credentials are refused: set --secret-key, the same on every node']
      : []),
  ]
}
