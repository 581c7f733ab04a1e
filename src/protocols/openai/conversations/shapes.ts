/** What conversations can be asked with. Loaded when first needed. */
import { z } from 'zod'
import { itemList } from '../responses/shapes.ts'
import { maybe, metadataShape } from '../shapes.ts'

/** The API takes so many at once. */
const items = itemList.max(20)

export const conversationBody = z.looseObject({ metadata: maybe(metadataShape), items: maybe(items) })

export const conversationUpdate = z.looseObject({ metadata: maybe(metadataShape) })

export const addBody = z.looseObject({ items: items.min(1) })
