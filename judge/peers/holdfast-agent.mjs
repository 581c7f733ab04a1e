/** An agent that streams the words of the model; after a crash it asks again, and the log continues where it was. */
import { agent } from 'holdfast'
import { wordsOf } from './programs/words.mjs'

export const writer = agent({
  id: 'writer',
  recovery: 'resume',
  run: (input) => wordsOf(process.env.MODEL_URL, String(input)),
})
