/** Signs agent cards: a JWS over the canonical form of the card, which is sent without it. */
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

export async function signCard(card: AgentCard, { key, alg, kid, jku }: CardSigner): Promise<AgentCard> {
  const { FlattenedSign } = await import('jose')
  const header = { alg, kid, typ: 'JOSE', ...(jku !== undefined && { jku }) }
  const payload = new TextEncoder().encode(canonical(card))
  const signed = await new FlattenedSign(payload).setProtectedHeader(header).sign(key)
  const signature: CardSignature = { protected: signed.protected!, signature: signed.signature }
  return { ...card, signatures: [signature] }
}

/** RFC 8785: keys in the order of their UTF-16 code units, and nothing between. Our cards have no default values to leave out. */
export function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value)
    .filter(([, item]) => item !== undefined)
    .toSorted(([left], [right]) => (left < right ? -1 : 1))
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonical(item)}`).join(',')}}`
}
