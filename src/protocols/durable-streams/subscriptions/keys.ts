/** The key that signs webhooks, and the tokens of wakes. Both come from one secret in the store, which all nodes share. */
import { createHash, createHmac, createPrivateKey, createPublicKey, hkdfSync, sign, timingSafeEqual } from 'node:crypto'

export interface SubscriptionKeys {
  /** Public keys, as a JWK Set. */
  readonly jwks: { readonly keys: readonly object[] }
  readonly kid: string
  /** The value of `Webhook-Signature`. */
  sign(body: string, now: number): string
  token(scope: TokenScope): string
  /** Undefined if the token is not from here. */
  open(token: string): TokenScope | undefined
}

/** A token is for one generation of one subscription. */
export interface TokenScope {
  readonly owner: string
  readonly subscription: string
  readonly generation: number
}

const TOKEN_CHARS_MAX = 4096
/** DER of a private Ed25519 key, before its 32 bytes (RFC 8410). */
const PKCS8_PREFIX = Buffer.from('302e020100300506032b657004220420', 'hex')

export function subscriptionKeys(secret: string): SubscriptionKeys {
  const derive = (purpose: string): Buffer =>
    Buffer.from(hkdfSync('sha256', secret, '', `durable streams ${purpose}`, 32))
  const privateKey = createPrivateKey({
    key: Buffer.concat([PKCS8_PREFIX, derive('webhook')]),
    format: 'der',
    type: 'pkcs8',
  })
  const { crv, kty, x } = createPublicKey(privateKey).export({ format: 'jwk' })
  const thumbprint = createHash('sha256').update(JSON.stringify({ crv, kty, x })).digest('base64url')
  const kid = `ds_${thumbprint}`
  const tokenKey = derive('token')
  const mac = (payload: string): Buffer => createHmac('sha256', tokenKey).update(payload).digest()
  return {
    jwks: { keys: [{ kty, crv, x, kid, use: 'sig', alg: 'EdDSA' }] },
    kid,
    sign(body, now) {
      const time = Math.floor(now / 1000)
      const signature = sign(null, Buffer.from(`${time}.${body}`), privateKey).toString('base64url')
      return `t=${time},kid=${kid},ed25519=${signature}`
    },
    token({ owner, subscription, generation }) {
      const payload = Buffer.from(JSON.stringify([owner, subscription, generation])).toString('base64url')
      return `${payload}.${mac(payload).toString('base64url')}`
    },
    open(token) {
      const [payload = '', signature = ''] = token.length > TOKEN_CHARS_MAX ? [] : token.split('.')
      const presented = Buffer.from(signature, 'base64url')
      const right = mac(payload)
      if (presented.length !== right.length || !timingSafeEqual(presented, right)) return undefined
      const [owner, subscription, generation] = JSON.parse(Buffer.from(payload, 'base64url').toString()) as [
        string,
        string,
        number,
      ]
      return { owner, subscription, generation }
    },
  }
}
