/** Encrypts small secrets that must be stored, such as the credentials of a webhook. */
export interface SecretBox {
  /** `context`: what the secret belongs to. A sealed secret cannot be opened in another context. */
  seal(secret: string, context: string): string
  /** Throws if the secret was sealed with an unknown key or for another context, or was changed. */
  open(sealed: string, context: string): string
}
