/** Encryption of small secrets that have to be stored, such as the credentials of a webhook. */
export interface SecretBox {
  /** `context` names what the secret belongs to. A sealed secret that is moved to another context does not open. */
  seal(secret: string, context: string): string
  /** Throws when the secret was sealed with a key that is not configured, for another context, or was changed. */
  open(sealed: string, context: string): string
}
