/** An agent with an input field of every kind that forms support. */
import { agent } from '../../../src/agents/agent.ts'
import { fromJsonSchema } from '../../../src/core/schema/json-schema.ts'

export const packer = agent({
  id: 'packer',
  input: fromJsonSchema({
    type: 'object',
    properties: {
      item: { type: 'string', title: 'Item', description: 'What to pack.' },
      copies: { type: 'integer' },
      wrapped: { type: 'boolean', title: 'Wrapped' },
      paper: { enum: ['red', 'blue'] },
      card: { type: 'string' },
    },
    required: ['item', 'copies'],
  }),
  async *run(input) {
    yield JSON.stringify(input)
  },
})
