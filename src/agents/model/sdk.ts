/** The AI SDK, loaded when the first model is asked: a server without model agents does not need the package. */
import { HoldfastError, messageOf } from '../../core/errors.ts'

export type Sdk = typeof import('ai')

let loaded: Promise<Sdk> | undefined

export function loadSdk(): Promise<Sdk> {
  loaded ??= import('ai').catch((cause: unknown) => {
    loaded = undefined
    const message = `agents with a model need the package \`ai\` (npm install ai): ${messageOf(cause)}`
    throw new HoldfastError('unsupported', message, { cause })
  })
  return loaded
}
