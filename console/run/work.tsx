/** Tool calls, steps, and the work of members. */
import { duration, json } from '../format.ts'
import { Value } from '../parts.tsx'
import type { MemberBlock, StepBlock, ToolBlock } from './blocks.ts'

const TOOL_STATES = {
  drafting: 'not called yet',
  running: 'running',
  done: 'done',
  failed: 'failed',
  cut: 'cut off',
} as const

export function ToolView({ block, speaker }: { readonly block: ToolBlock; readonly speaker: string }) {
  const { name, state, draft, input, progress, output, error, startedAt, endedAt } = block
  const took = endedAt === undefined ? undefined : Date.parse(endedAt) - Date.parse(startedAt)
  return (
    <details open={state === 'failed' || undefined}>
      <summary>
        <span className="tool-name">{name}</span>
        <span className="preview">{preview(input ?? draft)}</span>
        <span className="state" data-state={state}>
          {TOOL_STATES[state]}
          {took !== undefined && ` · ${duration(took)}`}
        </span>
      </summary>
      <p className="label">Called by {speaker} with</p>
      <Value value={input ?? draft} label={`Input of ${name}`} />
      {progress !== undefined && state === 'running' && (
        <>
          <p className="label">So far</p>
          <Value value={progress} label={`Progress of ${name}`} />
        </>
      )}
      {state === 'done' && (
        <>
          <p className="label">Result</p>
          <Value value={output} label={`Result of ${name}`} />
        </>
      )}
      {error !== undefined && (
        <>
          <p className="label">Error: {error.code}</p>
          <Value value={error.message} label={`Error of ${name}`} />
        </>
      )}
    </details>
  )
}

function preview(value: unknown): string {
  const text = typeof value === 'string' ? value : json(value, 0)
  return text === '{}' ? '' : text.slice(0, 120)
}

export function StepView({ block }: { readonly block: StepBlock }) {
  const { name, stepKind, state, output, error, reason, depth } = block
  const hasMore = output !== undefined || error !== undefined
  const head = (
    <>
      <span className="step-mark" data-state={state} aria-hidden="true" />
      <span className="step-name">{name}</span>
      <span className="step-kind">{stepKind}</span>
      <span className="state" data-state={state}>
        {state === 'cut' ? 'cut off' : state}
        {reason !== undefined && `: ${reason}`}
      </span>
    </>
  )
  if (!hasMore)
    return (
      <p className="step-line" data-step-depth={Math.min(depth, 5)}>
        {head}
      </p>
    )
  return (
    <details data-step-depth={Math.min(depth, 5)}>
      <summary className="step-line">{head}</summary>
      <Value value={error?.message ?? output} label={`Result of ${name}`} />
    </details>
  )
}

export function MemberView({ block }: { readonly block: MemberBlock }) {
  const { component, memberKind, state, input, error } = block
  return (
    <details>
      <summary>
        <span className="member-name">{component}</span> <span className="step-kind">{memberKind}</span>
        <span className="state" data-state={state}>
          {state === 'cut' ? 'cut off' : state}
        </span>
      </summary>
      <p className="label">Input</p>
      <Value value={input} label={`Task of ${component}`} />
      {error !== undefined && <Value value={`${error.code}: ${error.message}`} label={`Error of ${component}`} />}
    </details>
  )
}
