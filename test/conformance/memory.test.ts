/** The memory store passes the whole suite. */
import { openMemoryStore } from '../../src/stores/memory.ts'
import { storeConformance } from '../../src/testing/stores.ts'

storeConformance({ name: 'memory', open: async ({ clock }) => openMemoryStore({ clock }) })
