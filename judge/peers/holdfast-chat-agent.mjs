/** What `programs/resumable-stream.mjs` serves, as an agent: the same model, tool and settings. */
import { createOpenAICompatible } from '@ai-sdk/openai-compatible'
import { agent } from 'holdfast'
import { lookup } from './programs/lookup-tool.mjs'

const model = createOpenAICompatible({ name: 'scripted', baseURL: process.env.MODEL_URL })('scripted')

export const writer = agent({ id: 'writer', model, tools: { lookup }, retries: 0 })
