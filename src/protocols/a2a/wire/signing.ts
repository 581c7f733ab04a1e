/** Signs agent cards, and what else the server says in its own name: a JWS over what is sent beside it. */
import type { CryptoKey, KeyObject } from 'jose'
import type { AgentCard, CardSignature } from './wire.ts'

export interface CardSigner {
  readonly key: CryptoKey | KeyObject
  readonly alg: string
  /** By which clients find the public key. */
  readonly kid: string
  /** Address of a set of keys that has it. */
  readonly jku?: string
}

export async function signCard(card: AgentCard, signer: CardSigner): Promise<AgentCard> {
  return { ...card, signatures: [await sign(canonical(card), signer)] }
}

/** `claims` are signed too: they are part of the header. */
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

/** RFC 8785: keys in the order of their UTF-16 code units, and nothing between; of what is left without what is empty. */
export function canonical(card: object): string {
  return inOrder(withoutEmpty(card))
}

function inOrder(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inOrder).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).toSorted(([left], [right]) => (left < right ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${inOrder(item)}`).join(',')}}`
}

/** Protocol buffers do not tell an empty field from an absent one. All that is empty goes, as in the official SDKs, which verify it so. */
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
