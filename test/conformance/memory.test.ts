/** The memory store passes the whole suite. */
import { openMemoryStore } from '../../src/stores/memory.ts'
import { storeConformance } from '../../src/testing/index.ts'

storeConformance({ name: 'memory', open: async ({ clock }) => openMemoryStore({ clock }) })
