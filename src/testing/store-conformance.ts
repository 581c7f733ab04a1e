/**
 * Conformance suite for stores: register it in a vitest file to test every rule of `core/ports/store.ts`.
 *
 * storeConformance({ name: 'mine', open: ({ clock }) => openMyStore({ clock }) })
 */
import { describe, expect, test } from 'vitest'
import { documentListingSection } from './conformance/document-listing.ts'
import { documentReopenSection } from './conformance/document-reopen.ts'
import { documentsSection } from './conformance/documents.ts'
import { lanesSection } from './conformance/lanes.ts'
import { leasesSection } from './conformance/leases.ts'
import { listingSection } from './conformance/listing.ts'
import { logSection } from './conformance/log.ts'
import { modelSection } from './conformance/model.ts'
import { movedRecoverySection, movingSection } from './conformance/transfer.ts'
import { readsSection } from './conformance/reads.ts'
import { reopenSection } from './conformance/reopen.ts'
import { runsSection } from './conformance/runs.ts'
import { sessionsSection } from './conformance/sessions.ts'
import { signalsSection } from './conformance/signals.ts'
import type { ConformanceCase, ConformanceSection, StoreTarget } from './conformance/target.ts'
import { expectToPass } from './conformance/trial.ts'
import { turnsSection } from './conformance/fair-order.ts'
import { usageRecoverySection, usageSection } from './conformance/usage.ts'

export const storeSections: readonly ConformanceSection[] = [
  logSection,
  readsSection,
  runsSection,
  listingSection,
  leasesSection,
  turnsSection,
  lanesSection,
  signalsSection,
  documentsSection,
  documentListingSection,
  sessionsSection,
  movingSection,
  usageSection,
  reopenSection,
  documentReopenSection,
  movedRecoverySection,
  usageRecoverySection,
  modelSection,
]

/**
 * Registers the conformance tests for a store, in a vitest file.
 *
 * @example
 * ```ts
 * storeConformance({ name: 'mine', open: ({ clock }) => openMyStore({ clock }) })
 * ```
 */
export function storeConformance(target: StoreTarget): void {
  describe(`store conformance of ${target.name}`, () => {
    for (const section of storeSections) {
      describe(section.name, () => {
        for (const each of casesFor(target, section)) {
          const reason = target.skip?.find((skip) => skip.test === each.name)?.reason
          const title = reason === undefined ? each.name : `${each.name} (${reason})`
          const timeout = each.timeoutMs === undefined ? {} : { timeout: each.timeoutMs }
          test(title, { skip: reason !== undefined, ...timeout }, () => expectToPass(target, each))
        }
      })
    }
    test('every skip names a test and says why', () => expectSkipsToBeKnown(target))
  })
}

function casesFor(target: StoreTarget, { needsReopen = false, cases }: ConformanceSection): readonly ConformanceCase[] {
  return needsReopen && target.reopen === undefined ? [notDurable] : cases
}

/** A durable store without `reopen` would pass untested. */
const notDurable: ConformanceCase = {
  name: 'a store that cannot be reopened does not report that it is durable',
  run: async ({ store }) => expect(store.capabilities.durable).toBe(false),
}

function expectSkipsToBeKnown({ skip = [] }: StoreTarget): void {
  const names = new Set(storeSections.flatMap((section) => section.cases.map((each) => each.name)))
  expect(skip.filter((entry) => !names.has(entry.test) || entry.reason === '')).toEqual([])
}
