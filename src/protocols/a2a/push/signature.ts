/** Signs a push with the card key: a compact JWS with detached payload. */
import { type CardSigner, sign } from '../wire/signing.ts'
import type { Notification } from '../../../http/webhooks/post.ts'

/** Includes audience and time, so that a receiver cannot replay it elsewhere or much later. */
export async function signNotification(
  notification: Notification,
  signer: CardSigner,
  now: number,
): Promise<Notification> {
  const { url, headers, body } = notification
  const { protected: header, signature } = await sign(body, signer, { aud: url, iat: Math.floor(now / 1000) })
  return { ...notification, headers: { ...headers, 'x-a2a-notification-signature': `${header}..${signature}` } }
}
