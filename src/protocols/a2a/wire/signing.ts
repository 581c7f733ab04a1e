/** Signs agent cards and pushes with a detached JWS. */
import type { CryptoKey, KeyObject } from 'jose'
import type { AgentCard, CardSignature } from './wire.ts'

/** The key that signs agent cards and pushes. */
export interface CardSigner {
  readonly key: CryptoKey | KeyObject
  readonly alg: string
  /** Key id, by which clients find the public key. */
  readonly kid: string
  /** URL of a key set that contains the key. */
  readonly jku?: string
}

export async function signCard(card: AgentCard, signer: CardSigner): Promise<AgentCard> {
  return { ...card, signatures: [await sign(canonical(card), signer)] }
}

/** `claims` are part of the signed header. */
export async function sign(
  text: string,
  { key, alg, kid, jku }: CardSigner,
  claims: Readonly<Record<string, string | number>> = {},
): Promise<CardSignature> {
  const { FlattenedSign } = await import('jose')
  const header = { alg, kid, typ: 'JOSE', ...(jku !== undefined && { jku }), ...claims }
  const signed = await new FlattenedSign(new TextEncoder().encode(text)).setProtectedHeader(header).sign(key)
  return { protected: signed.protected!, signature: signed.signature }
}

/** Canonical JSON (RFC 8785), without empty fields. */
export function canonical(card: object): string {
  return inOrder(withoutEmpty(card))
}

function inOrder(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inOrder).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${inOrder(item)}`).join(',')}}`
}

/** Protobuf does not distinguish empty from absent fields, so empty ones are removed, as the official SDKs do to verify. */
function withoutEmpty(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmpty).filter((item) => !isEmpty(item))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).map(([key, item]) => [key, withoutEmpty(item)] as const)
  return Object.fromEntries(entries.filter(([, item]) => !isEmpty(item)))
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === '') return true
  return typeof value === 'object' && Object.keys(value).length === 0
}
