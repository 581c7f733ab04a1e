/** Warns that a background run ends with the server, if the store is not durable. */
import type { Service } from '../../core/service.ts'
import type { HttpResponse } from '../exchange.ts'

const HEADER = 'holdfast-durable'

/** For requests for a background run: clients expect to find the run later. */
export function noteDurability(response: HttpResponse, service: Service): void {
  if (!service.isDurable) response.setHeader(HEADER, 'false')
}
