import { createOpenAI } from '@ai-sdk/openai'
import { agent } from 'holdfast'
import { resumable } from 'holdfast/ai'

export const writer = agent({
  id: 'writer',
  instructions: 'You write long, careful reports.',
  model: resumable((fetch) => createOpenAI({ fetch }).responses('gpt-5.4')),
})
