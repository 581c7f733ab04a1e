/** Signs share links: HMAC-SHA-256 with a secret kept in the store. */
import type { SecretBox } from '../core/ports/secret-box.ts'
import type { ShareSigner } from '../core/access/share-links.ts'
import type { Store } from '../core/ports/store.ts'
import { storeSecret } from './store-secret.ts'

export function shareSigner(store: Store, box: SecretBox | undefined): ShareSigner {
  const { createHmac, timingSafeEqual } = process.getBuiltinModule('node:crypto')
  const secret = storeSecret(store, 'share-link', box)
  const digest = async (text: string): Promise<Buffer> =>
    createHmac('sha256', await secret())
      .update(text)
      .digest()
  return {
    sign: async (text) => (await digest(text)).toString('base64url'),
    async verify(text, signature) {
      const presented = Buffer.from(signature, 'base64url')
      const right = await digest(text)
      return presented.length === right.length && timingSafeEqual(presented, right)
    },
  }
}
