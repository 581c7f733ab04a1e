/** Predefined redactions; none is applied by default. They recognize secrets by their format, so they cannot find passwords. */
import { cardNumbers } from './card-numbers.ts'
import { emails } from './emails.ts'
import { prefixed } from './prefixed.ts'
import { privateKeys } from './private-keys.ts'
import type { Redaction, RedactOptions } from './redaction.ts'

const KEY = 'api-key'
const TOKEN = 'token'

const apiKeys: readonly Redaction[] = [
  // OpenAI, Anthropic, OpenRouter, DeepSeek, Perplexity, xAI
  prefixed({ name: KEY, heads: ['sk-', 'pplx-', 'xai-'], alphabet: 'A-Za-z0-9_-', min: 16 }),
  // Stripe, Groq, Replicate, Hugging Face and Holdfast, npm, PyPI, DigitalOcean, Linear, Databricks
  prefixed({
    name: KEY,
    heads: 'sk_live_ sk_test_ rk_live_ rk_test_ whsec_ gsk_ r8_ hf_ npm_ pypi- dop_v1_ lin_api_ dapi'.split(' '),
    alphabet: 'A-Za-z0-9_-',
    min: 16,
  }),
  // Google
  prefixed({ name: KEY, heads: ['AIza'], alphabet: 'A-Za-z0-9_-', min: 30 }),
  // AWS, by the id of the key
  prefixed({ name: KEY, heads: ['AKIA', 'ASIA', 'ABIA', 'ACCA'], alphabet: 'A-Z0-9', min: 16, accept: all }),
  // SendGrid
  prefixed({ name: KEY, heads: ['SG.'], alphabet: 'A-Za-z0-9_.-', min: 40 }),
]

const tokens: readonly Redaction[] = [
  // JSON Web Tokens, signed and encrypted
  prefixed({ name: TOKEN, heads: ['eyJ'], alphabet: 'A-Za-z0-9_.-', min: 20, accept: webToken }),
  prefixed({ name: TOKEN, heads: ['bearer '], alphabet: 'A-Za-z0-9._~+/=-', min: 16, caseSensitive: false }),
  prefixed({ name: TOKEN, heads: ['basic '], alphabet: 'A-Za-z0-9+/=', min: 12, caseSensitive: false }),
  // GitHub, GitLab
  prefixed({
    name: TOKEN,
    heads: ['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_', 'glpat-'],
    alphabet: 'A-Za-z0-9_-',
    min: 20,
  }),
  // Slack
  prefixed({
    name: TOKEN,
    heads: ['xoxa-', 'xoxb-', 'xoxe-', 'xoxe.', 'xoxo-', 'xoxp-', 'xoxr-', 'xoxs-', 'xapp-'],
    alphabet: 'A-Za-z0-9.-',
    min: 10,
  }),
  prefixed({ name: TOKEN, heads: ['hooks.slack.com/services/'], alphabet: 'A-Za-z0-9/', min: 20, inWords: true }),
  // Google
  prefixed({ name: TOKEN, heads: ['ya29.'], alphabet: 'A-Za-z0-9_-', min: 20 }),
  // The password of a URL, with the user name before it
  prefixed({
    name: 'url-password',
    heads: ['://'],
    alphabet: '^\\s/?#"\'<>`\\\\',
    min: 3,
    inWords: true,
    accept: userInfo,
  }),
  privateKeys,
]

export const redactions = { apiKeys, tokens, cardNumbers: [cardNumbers], emails: [emails] } as const

/** By the names that the command line accepts. */
const redactionsByName = {
  'api-keys': apiKeys,
  tokens,
  'card-numbers': redactions.cardNumbers,
  emails: redactions.emails,
} as const satisfies Record<string, readonly Redaction[]>

const EXCEPTIONS = 'exceptions'

type RedactionName = keyof typeof redactionsByName | typeof EXCEPTIONS

export const redactionNames = [...Object.keys(redactionsByName), EXCEPTIONS] as readonly RedactionName[]

/** The redaction options of `--redact`. */
export function redactByName(names: readonly RedactionName[]): RedactOptions {
  const patterns = names.flatMap((name) => (name === EXCEPTIONS ? [] : [redactionsByName[name]]))
  return { patterns, ...(names.includes(EXCEPTIONS) && { exceptions: true }) }
}

function all(match: string): number {
  return match.length
}

function webToken(match: string): number {
  if (!/^eyJ[\w-]{8,}\.[\w-]*\./.test(match)) return 0
  let chars = match.length
  while (match[chars - 1] === '.') chars--
  return chars
}

function userInfo(match: string): number {
  const end = match.lastIndexOf('@') + 1
  return /^:\/\/[^:@]*:[^@]+/.test(match) ? end : 0
}
