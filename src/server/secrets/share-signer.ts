/** Signs share links: HMAC-SHA-256 with a secret kept in the store. */
import type { SecretBox } from '../../core/ports/secret-box.ts'
import type { ShareSigner } from '../../core/access/share-links.ts'
import type { Store } from '../../core/ports/store.ts'
import { storeSecret } from './store-secret.ts'

/** HMAC-SHA-256 with a secret kept in the store. */
export function storeHash(store: Store, id: string, box: SecretBox | undefined): (text: string) => Promise<Buffer> {
  const { createHmac } = process.getBuiltinModule('node:crypto')
  const secret = storeSecret(store, id, box)
  return async (text) =>
    createHmac('sha256', await secret())
      .update(text)
      .digest()
}

export function shareSigner(store: Store, box: SecretBox | undefined): ShareSigner {
  const { timingSafeEqual } = process.getBuiltinModule('node:crypto')
  const digest = storeHash(store, 'share-link', box)
  return {
    sign: async (text) => (await digest(text)).toString('base64url'),
    async verify(text, signature) {
      const presented = Buffer.from(signature, 'base64url')
      const right = await digest(text)
      return presented.length === right.length && timingSafeEqual(presented, right)
    },
  }
}
