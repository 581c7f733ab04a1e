/** Tokens of a run, by model. */
import { count } from '../format.ts'
import { Empty } from '../parts.tsx'
import type { UsageFold } from 'holdfast/structure'

export function UsagePanel({ usage }: { readonly usage: UsageFold }) {
  const { models, total } = usage
  if (models.length === 0 && total === undefined) return <Empty title="No model requests" />
  return (
    <div className="usage-panel">
      <p className="usage-total">
        <strong>{count(total ?? 0)}</strong> tokens {usage.whole === undefined ? 'so far' : 'in all'}
      </p>
      <div className="table-scroll" tabIndex={0} role="region" aria-label="Tokens by model">
        <table>
          <thead>
            <tr>
              <th scope="col">Model</th>
              <th scope="col">Requests</th>
              <th scope="col">In</th>
              <th scope="col">Cached</th>
              <th scope="col">Out</th>
              <th scope="col">Reasoning</th>
            </tr>
          </thead>
          <tbody>
            {models.map(({ model, requests, input, cached, output, reasoning }) => (
              <tr key={model}>
                <th scope="row">{model}</th>
                <td>{count(requests)}</td>
                <td>{count(input)}</td>
                <td>{count(cached)}</td>
                <td>{count(output)}</td>
                <td>{count(reasoning)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p className="hint">Retracted output was paid for, so it counts.</p>
    </div>
  )
}
