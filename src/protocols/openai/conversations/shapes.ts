/** Request schemas of conversations. Loaded lazily. */
import { z } from 'zod'
import { listOf } from '../../../http/request/list-shape.ts'
import { item } from '../responses/shapes.ts'
import { maybe, metadataShape } from '../wire/shapes.ts'

/** OpenAI's limit per request. */
const ITEMS_MAX = 20

export const conversationBody = z.looseObject({
  metadata: maybe(metadataShape),
  items: maybe(listOf(item, { max: ITEMS_MAX })),
})

export const conversationUpdate = z.looseObject({ metadata: maybe(metadataShape) })

export const addBody = z.looseObject({ items: listOf(item, { min: 1, max: ITEMS_MAX }) })
