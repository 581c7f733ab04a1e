/** Says that a run in the background ends with the server. */
import type { Service } from '../../core/service.ts'
import type { HttpResponse } from '../exchange.ts'

const HEADER = 'holdfast-durable'

/** For requests that ask for a run in the background: clients expect such a run to be there later. */
export function noteDurability(response: HttpResponse, service: Service): void {
  if (!service.isDurable) response.setHeader(HEADER, 'false')
}
