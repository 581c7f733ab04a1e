/** Parses a configured verification key and derives the algorithms it allows. */
import { createPublicKey, createSecretKey, type JsonWebKey, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { HoldfastError, messageOf } from '../../core/model/errors.ts'

export interface VerificationKey {
  readonly key: KeyObject
  /** Fixed by the key type, so that a token cannot make a public key serve as a shared secret. */
  readonly algorithms: readonly string[]
}

const RSA = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512']
const CURVES: ReadonlyMap<string, string> = new Map([
  ['prime256v1', 'ES256'],
  ['secp384r1', 'ES384'],
  ['secp521r1', 'ES512'],
])
const EDWARDS = ['EdDSA', 'Ed25519']
const SHARED = ['HS256', 'HS384', 'HS512']

/** Algorithms for key sets: asymmetric only, since their keys are public. */
export const publicAlgorithms: readonly string[] = [...RSA, ...CURVES.values(), ...EDWARDS]

const RSA_BITS_MIN = 2048
/** RFC 7518, 3.2: a key for HS256 has at least 256 bits. */
const SECRET_BYTES_MIN = 32

/**
 * Reads PEM or JWK text, `secret:TEXT`, `secret-file:PATH`, or the path of a PEM or JWK file.
 * Secrets need an explicit prefix, so that a mistyped path or an unknown key format does not become a secret.
 */
export async function readVerificationKey(source: string): Promise<VerificationKey> {
  if (source.startsWith('secret:')) return fromSecret(Buffer.from(source.slice('secret:'.length)))
  if (source.startsWith('secret-file:')) {
    const text = await readKeyText(source.slice('secret-file:'.length))
    return fromSecret(Buffer.from(text.replace(/\r?\n$/, '')))
  }
  return isKeyText(source) ? fromText(source) : fromText(await readKeyText(source))
}

function isKeyText(text: string): boolean {
  return /^\s*(?:-----BEGIN |\{)/.test(text)
}

async function readKeyText(path: string): Promise<string> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    // Do not repeat the value: it may be a secret without its prefix.
    const forms = 'PEM text, JWK text, secret:TEXT, secret-file:PATH, or the path of a PEM or JWK file'
    throw problem(`it names a file that cannot be read; use ${forms}`, cause)
  }
}

function fromText(text: string): VerificationKey {
  if (!isKeyText(text)) throw problem('the file is neither PEM nor JWK; use secret-file:PATH for a shared secret')
  if (!text.trimStart().startsWith('{')) return fromPublic(() => createPublicKey(text))
  const jwk = parseJwk(text)
  if ('keys' in jwk) throw problem('it is a key set; use --jwt-jwks for key sets')
  if (jwk.kty !== 'oct')
    return narrow(
      fromPublic(() => createPublicKey({ key: jwk, format: 'jwk' })),
      jwk,
    )
  if (typeof jwk.k !== 'string') throw problem('its JWK has no "k"')
  return narrow(fromSecret(Buffer.from(jwk.k, 'base64url')), jwk)
}

function parseJwk(text: string): JsonWebKey {
  try {
    return JSON.parse(text) as JsonWebKey
  } catch (cause) {
    throw problem('its JWK is not JSON', cause)
  }
}

function narrow(found: VerificationKey, { alg, use }: JsonWebKey): VerificationKey {
  if (use !== undefined && use !== 'sig') throw problem(`its JWK is for ${JSON.stringify(use)}, not for signatures`)
  if (alg === undefined) return found
  const algorithms = found.algorithms.filter((algorithm) => algorithm === alg)
  if (algorithms.length === 0) throw problem(`its JWK has the "alg" ${JSON.stringify(alg)}, which does not fit the key`)
  return { ...found, algorithms }
}

function fromSecret(secret: Buffer): VerificationKey {
  if (secret.length < SECRET_BYTES_MIN) {
    throw problem(`the shared secret has ${secret.length} bytes; at least ${SECRET_BYTES_MIN} are needed`)
  }
  return { key: createSecretKey(secret), algorithms: SHARED }
}

function fromPublic(read: () => KeyObject): VerificationKey {
  let key: KeyObject
  try {
    key = read()
  } catch (cause) {
    throw problem(messageOf(cause), cause)
  }
  return { key, algorithms: algorithmsOf(key) }
}

function algorithmsOf(key: KeyObject): readonly string[] {
  const { modulusLength = 0, namedCurve = '' } = key.asymmetricKeyDetails ?? {}
  switch (key.asymmetricKeyType) {
    case 'rsa':
      if (modulusLength < RSA_BITS_MIN)
        throw problem(`its RSA key has ${modulusLength} bits; at least ${RSA_BITS_MIN} are needed`)
      return RSA
    case 'ec': {
      const algorithm = CURVES.get(namedCurve)
      if (algorithm === undefined) throw problem(`its curve ${namedCurve} is not one of P-256, P-384, P-521`)
      return [algorithm]
    }
    case 'ed25519':
      return EDWARDS
    default:
      throw problem(`its type ${key.asymmetricKeyType} is not one of RSA, EC, Ed25519`)
  }
}

function problem(what: string, cause?: unknown): HoldfastError {
  return new HoldfastError('invalid_request', `the JWT key cannot be used: ${what}`, { cause })
}
