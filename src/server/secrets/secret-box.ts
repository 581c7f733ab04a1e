/**
 * AES-256-GCM with configured keys. The first key encrypts, all decrypt, so that keys can be rotated. Format of a sealed secret:
 * `v1.KEYID.BASE64URL(nonce, ciphertext, tag)`.
 */
import type { SecretBox } from '../../core/ports/secret-box.ts'

export const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const SEALED = /^v1\.([0-9a-f]{8})\.([\w-]+)$/

export function createSecretBox(keys: readonly Buffer[]): SecretBox {
  const { createCipheriv, createDecipheriv, randomBytes } = process.getBuiltinModule('node:crypto')
  const [first] = keys
  if (first === undefined) throw new Error('a secret box needs at least one key')
  const byId = new Map(keys.map((key) => [keyId(key), key]))
  const firstId = keyId(first)
  return {
    seal(secret, context) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv('aes-256-gcm', first, nonce)
      cipher.setAAD(Buffer.from(context))
      const sealed = Buffer.concat([nonce, cipher.update(secret, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return `v1.${firstId}.${sealed.toString('base64url')}`
    },
    open(sealed, context) {
      const [, id = '', text = ''] = SEALED.exec(sealed) ?? []
      const bytes = Buffer.from(text, 'base64url')
      if (bytes.length < NONCE_BYTES + TAG_BYTES) throw new Error('a stored secret is corrupt')
      const key = byId.get(id)
      if (key === undefined)
        throw new Error(
          `a stored secret is encrypted with the key ${id}, which is not configured: add it to --secret-key`,
        )
      const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
        authTagLength: TAG_BYTES,
      })
      decipher.setAAD(Buffer.from(context))
      decipher.setAuthTag(bytes.subarray(-TAG_BYTES))
      try {
        return decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
      } catch (cause) {
        throw new Error('a stored secret is corrupt, or was stored for another purpose', { cause })
      }
    },
  }
}

/** Identifies a key without revealing anything about it. */
export function keyId(key: Buffer): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  return createHash('sha256').update('holdfast secret key id\n').update(key).digest('hex').slice(0, 8)
}
