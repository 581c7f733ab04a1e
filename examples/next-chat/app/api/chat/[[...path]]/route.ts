import { hf } from '../../../../agents.ts'

export const { GET, POST } = hf.handlers
