/** The components of the server under test. */
import { isolated } from '../../../src/agents/isolated/component.ts'

export const counter = await isolated(new URL('./counter.ts', import.meta.url))
export const hostile = await isolated(new URL('./hostile.ts', import.meta.url), { memoryMb: 32 })
