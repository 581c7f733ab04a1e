/** Opens a request to an upstream on a new connection: a kept-alive one may close just when it is used. */
import { type ClientRequest, request as requestHttp, type RequestOptions } from 'node:http'
import { request as requestHttps } from 'node:https'

export function openRequest(url: URL, options: RequestOptions): ClientRequest {
  const request = url.protocol === 'https:' ? requestHttps : requestHttp
  return request(url, { ...options, agent: false })
}
