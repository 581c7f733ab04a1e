/** Chooses the demo's model: from the configuration, from the environment, or the scripted one. */
import { findPackageJSON } from 'node:module'
import type { LanguageModel } from 'ai'
import { resumable } from '../../agents/model/reattach/reattach.ts'
import { HoldfastError, messageOf } from '../../core/model/errors.ts'
import type { ModelConfig } from '../../server/config/config.ts'
import type { Environment } from '../../server/config/options.ts'

export interface DemoModel {
  /** Shown to the user at startup. */
  readonly description: string
  /** Undefined for the scripted model, because each component has its own script. */
  load(): Promise<LanguageModel | undefined>
}

const OPENAI_MODEL = 'gpt-5.4-mini'
const ANTHROPIC_MODEL = 'claude-haiku-4-5'

/** Throws if a needed package is not installed. */
export function demoModel(config: ModelConfig, env: Environment, isInstalled = hasPackage): DemoModel {
  const { package: needed, ...model } = modelOf(config, env)
  const missing = ['ai', ...(needed === undefined ? [] : [needed])].filter((name) => !isInstalled(name))
  if (missing.length === 0) return model
  const [packages, verb] = [missing.join(' '), missing.length === 1 ? 'is' : 'are']
  throw new HoldfastError(
    'unsupported',
    `the demo on ${model.description} needs ${missing.join(' and ')}, which ${verb} not installed: npm install ${packages}`,
  )
}

interface ProvidedModel extends DemoModel {
  readonly package?: string
}

function modelOf({ url, name, key }: ModelConfig, env: Environment): ProvidedModel {
  const { OPENAI_API_KEY: openaiKey, ANTHROPIC_API_KEY: anthropicKey } = env
  if (url !== undefined) return compatible(url, name, key)
  if (key !== undefined) throw unusableOption('--model-key', '--model-url')
  if (openaiKey) return openai(openaiKey, name ?? OPENAI_MODEL)
  if (anthropicKey) return anthropic(anthropicKey, name ?? ANTHROPIC_MODEL)
  if (name !== undefined) throw unusableOption('--model', '--model-url, OPENAI_API_KEY or ANTHROPIC_API_KEY')
  return { description: 'the scripted model, without a key and without a network', load: async () => undefined }
}

function unusableOption(option: string, needed: string): HoldfastError {
  return new HoldfastError('invalid_request', `${option} needs ${needed}: without it, the demo uses the scripted model`)
}

/** Uses background mode, so that the provider keeps generating while the server is down. */
function openai(apiKey: string, name: string): ProvidedModel {
  return {
    description: `${name} of OpenAI (OPENAI_API_KEY)`,
    package: '@ai-sdk/openai',
    async load() {
      const { createOpenAI } = await import('@ai-sdk/openai')
      return resumable((fetch) => createOpenAI({ apiKey, fetch }).responses(name))
    },
  }
}

function anthropic(apiKey: string, name: string): ProvidedModel {
  return {
    description: `${name} of Anthropic (ANTHROPIC_API_KEY)`,
    package: '@ai-sdk/anthropic',
    load: async () => (await import('@ai-sdk/anthropic')).createAnthropic({ apiKey })(name),
  }
}

function compatible(baseURL: string, name: string | undefined, apiKey: string | undefined): ProvidedModel {
  return {
    description: `${name ?? 'the first model'} at ${baseURL}`,
    package: '@ai-sdk/openai-compatible',
    async load() {
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      const provider = createOpenAICompatible({
        name: 'compatible',
        baseURL,
        includeUsage: true,
        // Without it, the provider sends no output schema, and a caller that asked for one gets anything.
        supportsStructuredOutputs: true,
        ...(apiKey !== undefined && { apiKey }),
      })
      return provider(name ?? (await firstModel(baseURL, apiKey)))
    },
  }
}

const LIST_MS = 10_000

async function firstModel(baseURL: string, apiKey: string | undefined): Promise<string> {
  const url = `${baseURL.replace(/\/$/, '')}/models`
  try {
    const headers: Record<string, string> = apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(LIST_MS) })
    const { data } = (await response.json()) as { data: readonly { readonly id: string }[] }
    return data[0]!.id
  } catch (cause) {
    const message = `${url} does not list its models: select one with --model. ${messageOf(cause)}`
    throw new HoldfastError('unavailable', message, { cause })
  }
}

function hasPackage(name: string): boolean {
  try {
    return findPackageJSON(name, import.meta.url) !== undefined
  } catch {
    return false
  }
}
