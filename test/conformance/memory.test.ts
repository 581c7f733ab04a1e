/** The memory store passes the whole suite. */
import { createMemoryStore } from '../../src/stores/memory.ts'
import { storeConformance } from '../../src/testing/stores.ts'

storeConformance({ name: 'memory', open: async ({ clock }) => createMemoryStore({ clock }) })
