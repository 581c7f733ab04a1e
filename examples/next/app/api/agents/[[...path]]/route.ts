import { hf } from '../../../../agents.ts'

export const { GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS } = hf.handlers
