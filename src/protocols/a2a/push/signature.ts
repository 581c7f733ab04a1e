/** The signature of a push, with the key that signs the cards: a JWS in its compact form, without the body that it is of. */
import { type CardSigner, sign } from '../wire/signing.ts'
import type { Notification } from './webhook.ts'

/** It says where it goes and when it was made, so that nobody who was sent it can use it elsewhere, or much later. */
export async function signed(notification: Notification, signer: CardSigner, now: number): Promise<Notification> {
  const { url, headers, body } = notification
  const { protected: header, signature } = await sign(body, signer, { aud: url, iat: Math.floor(now / 1000) })
  return { ...notification, headers: { ...headers, 'x-a2a-notification-signature': `${header}..${signature}` } }
}
