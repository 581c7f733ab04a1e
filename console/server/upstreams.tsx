/** Upstreams of a gateway: whether each can be reached, and what it carries. */
import type { UpstreamReport } from '../api.ts'
import { count, moment } from '../format.ts'
import { Fact } from '../parts.tsx'

export function Upstreams({ upstreams }: { readonly upstreams: readonly UpstreamReport[] }) {
  return (
    <section className="card upstreams">
      <h2>Upstreams</h2>
      {upstreams.map(({ name, url, status, since, components, error, load }) => (
        <div key={name}>
          <p className="health" data-ok={status === 'ok'} title={`since ${moment(since)}`}>
            <span className="dot" aria-hidden="true" />
            {name}: {status}
            {error !== undefined && ` (${error})`}
          </p>
          <dl className="facts">
            <Fact name="Address">{url}</Fact>
            <Fact name="Components">{count(components)}</Fact>
            {load !== undefined && <Fact name="Circuit">{load.circuit}</Fact>}
            {load !== undefined && (
              <Fact name="Runs">
                {count(load.running)} running, {count(load.queued)} queued
              </Fact>
            )}
          </dl>
        </div>
      ))}
    </section>
  )
}
