/** The run as a conversation. */
import type { Actor, Question } from 'holdfast/client'
import { memo, type ReactNode, useLayoutEffect, useMemo, useRef, useState } from 'react'
import { isImageData, Markdown, OuterLink } from '../markdown.tsx'
import { Empty, Status, Value } from '../parts.tsx'
import { ArtifactView } from './artifact.tsx'
import type { Block, EndBlock, TextBlock } from './blocks.ts'
import { inTree } from './tree.ts'
import { MemberView, StepView, ToolView } from './work.tsx'

export interface ConversationProps {
  readonly blocks: readonly Block[]
  readonly actors: ReadonlyMap<string, Actor>
  readonly component: string
  /** Questions that can be answered now. */
  readonly open: readonly Question[]
  /** Running: scroll to the newest block. A finished run is read from the beginning. */
  readonly live: boolean
  readonly form: (questions: readonly Question[]) => ReactNode
}

/** Blocks rendered at first; a run with ten thousand tool calls has more. */
const DRAWN_BLOCKS = 200

export function Conversation({ blocks, actors, component, open, live, form }: ConversationProps) {
  const [drawn, setDrawn] = useState(DRAWN_BLOCKS)
  const tree = useMemo(() => inTree(blocks, actors), [blocks, actors])
  const box = useRef<HTMLDivElement>(null)
  const atEnd = useRef(live)
  // Stays at the end while the run continues, until the user scrolls away.
  useLayoutEffect(() => {
    const element = box.current
    if (element !== null && atEnd.current) element.scrollTop = element.scrollHeight
  }, [blocks])
  const onScroll = (): void => {
    const { scrollTop, clientHeight, scrollHeight } = box.current!
    atEnd.current = scrollTop + clientHeight >= scrollHeight - 80
  }
  const hidden = Math.max(0, blocks.length - drawn)
  const lastAsk = blocks.findLast((block) => block.kind === 'ask')
  if (blocks.length === 0) return <Empty title="No output yet" />
  return (
    <div
      className="conversation-scroll"
      ref={box}
      onScroll={onScroll}
      tabIndex={0}
      role="log"
      aria-label="Conversation"
    >
      <div className="conversation">
        {hidden > 0 && (
          <button type="button" className="quiet earlier" onClick={() => setDrawn(drawn + DRAWN_BLOCKS)}>
            Show {Math.min(hidden, DRAWN_BLOCKS)} of {hidden.toLocaleString('en')} earlier blocks
          </button>
        )}
        {tree.slice(hidden).map((block) => (
          <BlockView
            key={`${block.index}${block.discarded ? 'd' : ''}`}
            block={block}
            speaker={block.actor === '' ? component : (actors.get(block.actor)?.component ?? block.actor)}
            depth={depthOf(block.actor, actors)}
          >
            {block === lastAsk && open.length > 0 ? form(open) : undefined}
          </BlockView>
        ))}
      </div>
    </div>
  )
}

function depthOf(actor: string, actors: ReadonlyMap<string, Actor>): number {
  let depth = 0
  for (let at = actors.get(actor); at !== undefined && depth < 6; depth++)
    at = at.parent === undefined ? undefined : actors.get(at.parent)
  return depth
}

interface BlockViewProps {
  readonly block: Block
  readonly speaker: string
  readonly depth: number
  readonly children?: ReactNode
}

const BlockView = memo(function BlockView({ block, speaker, depth, children }: BlockViewProps) {
  return (
    <section
      className={`block block-${block.kind}`}
      data-discarded={block.discarded || undefined}
      data-depth={depth}
      data-index={block.index}
      aria-label={`${block.kind} of ${speaker}`}
    >
      {block.discarded && <p className="retracted">Retracted</p>}
      {body(block, speaker)}
      {children}
    </section>
  )
})

function body(block: Block, speaker: string): ReactNode {
  switch (block.kind) {
    case 'input':
      return <InputView value={block.value} />
    case 'text':
      return <TextView block={block} speaker={speaker} />
    case 'reasoning':
      return <ReasoningView block={block} speaker={speaker} />
    case 'tool':
      return <ToolView block={block} speaker={speaker} />
    case 'step':
      return <StepView block={block} />
    case 'member':
      return <MemberView block={block} />
    case 'artifact':
      return <ArtifactView block={block} />
    case 'source':
      return (
        <p className="source">
          Source: {block.url === undefined ? block.title : <OuterLink href={block.url}>{block.title}</OuterLink>}
        </p>
      )
    case 'fact':
      return (
        <details>
          <summary>{block.name}</summary>
          <Value value={block.value} label={block.name} />
        </details>
      )
    case 'note':
      return <p data-tone={block.tone}>{block.text}</p>
    case 'ask':
      return <AskView questions={block.questions} answers={block.answers} />
    case 'end':
      return <EndView block={block} />
  }
}

function InputView({ value }: { readonly value: unknown }) {
  const { text, files, messages } = (typeof value === 'object' && value !== null ? value : {}) as {
    text?: unknown
    files?: unknown
    messages?: unknown
  }
  const said = typeof value === 'string' ? value : typeof text === 'string' && messages === undefined ? text : undefined
  return (
    <>
      <p className="speaker">Input</p>
      {said === undefined ? <Value value={value} label="Input" /> : <p className="said">{said}</p>}
      {Array.isArray(files) && files.map((file, at) => <FileView key={at} file={file} />)}
    </>
  )
}

function FileView({ file }: { readonly file: unknown }) {
  const { mediaType, data, name = 'A file of the input' } = (file ?? {}) as Readonly<Record<string, unknown>>
  const address = `data:${String(mediaType)};base64,${String(data)}`
  if (isImageData(address)) return <img className="artifact-image" src={address} alt={String(name)} />
  return <Value value={file} label="File" />
}

function TextView({ block, speaker }: { readonly block: TextBlock; readonly speaker: string }) {
  return (
    <>
      <p className="speaker">{speaker}</p>
      <div data-open={block.open || undefined}>
        <Markdown text={block.text} />
      </div>
    </>
  )
}

function ReasoningView({ block, speaker }: { readonly block: TextBlock; readonly speaker: string }) {
  return (
    <details>
      <summary>
        {speaker} {block.open ? 'is thinking…' : 'thought'}
      </summary>
      <Markdown text={block.text} />
    </details>
  )
}

interface AskViewProps {
  readonly questions: readonly Question[]
  readonly answers: Readonly<Record<string, unknown>> | undefined
}

function AskView({ questions, answers }: AskViewProps) {
  return (
    <>
      {questions.map((question) => (
        <div key={question.id}>
          <p className="speaker">{question.kind === 'approval' ? 'Needs approval' : 'Asks'}</p>
          <p className="said">{question.prompt}</p>
          {question.details !== undefined && (
            <details open={question.kind === 'approval'}>
              <summary>Details</summary>
              <Value value={question.details} label="Details of the question" />
            </details>
          )}
          {answers !== undefined && question.id in answers && (
            <>
              <p className="label">Answer</p>
              <Value value={answers[question.id]} label="Answer" />
            </>
          )}
        </div>
      ))}
    </>
  )
}

function EndView({ block: { status, output, error, reason } }: { readonly block: EndBlock }) {
  return (
    <>
      <p className="end-line">
        <Status status={status} />
        {error !== undefined && <code>{error.code}</code>}
      </p>
      {error !== undefined && <p className="said">{error.message}</p>}
      {error?.details !== undefined && <Value value={error.details} label="Details of the error" />}
      {reason !== undefined && <p className="said">{reason}</p>}
      {output !== undefined && output !== null && (
        <details>
          <summary>Output</summary>
          <Value value={output} label="Output" />
        </details>
      )}
    </>
  )
}
