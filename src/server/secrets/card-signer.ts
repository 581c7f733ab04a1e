/** Reads the private key that signs A2A cards. The key type determines the algorithm. */
import { createPrivateKey, createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { HoldfastError, messageOf } from '../../core/model/errors.ts'
import type { CardSigner } from '../../protocols/a2a/index.ts'

const CURVES: ReadonlyMap<string, string> = new Map([
  ['prime256v1', 'ES256'],
  ['secp384r1', 'ES384'],
  ['secp521r1', 'ES512'],
])

/** Reads PEM or JWK. The key id is the JWK's `kid`, or its thumbprint (RFC 7638). */
export async function readCardSigner(path: string): Promise<CardSigner> {
  try {
    const text = await readFile(path, 'utf8')
    const jwk = text.trimStart().startsWith('{') ? (JSON.parse(text) as JsonWebKey) : undefined
    const key = jwk === undefined ? createPrivateKey(text) : createPrivateKey({ key: jwk, format: 'jwk' })
    return { key, alg: algorithmOf(key), kid: typeof jwk?.['kid'] === 'string' ? jwk['kid'] : await thumbprint(key) }
  } catch (cause) {
    throw new HoldfastError('invalid_request', `--a2a-sign-key ${path}: ${messageOf(cause)}`, { cause })
  }
}

function algorithmOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string {
  const alg =
    type === 'ec'
      ? CURVES.get(details?.namedCurve ?? '')
      : type === 'ed25519'
        ? 'EdDSA'
        : type === 'rsa'
          ? 'RS256'
          : undefined
  if (alg === undefined) throw new Error(`a key of type ${type ?? 'secret'} cannot sign cards: use EC, Ed25519 or RSA`)
  return alg
}

async function thumbprint(key: KeyObject): Promise<string> {
  const { calculateJwkThumbprint } = await import('jose')
  return calculateJwkThumbprint(createPublicKey(key).export({ format: 'jwk' }))
}
