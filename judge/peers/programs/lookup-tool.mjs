/** A tool as many have one: it returns a row of a database, whose id is a BigInt. */
import { jsonSchema, tool } from 'ai'

export const lookup = tool({
  description: 'Looks an order up',
  inputSchema: jsonSchema({ type: 'object', properties: {} }),
  execute: () => ({ id: 9_007_199_254_740_993n, state: 'sent' }),
})
