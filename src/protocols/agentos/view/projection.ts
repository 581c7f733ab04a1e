/** Projects a run's log to AgentOS frames. Pure: live, on replay, after a restart and on other nodes the frames are identical (LOG-5). */
import type { ComponentKind } from '../../../core/ports/component.ts'
import type { EventType, Failure, LoggedEvent, LoggedEventOf } from '../../../core/model/event.ts'
import type { Projection } from '../../../core/ports/projection.ts'
import type { Run } from '../../../core/model/run.ts'
import { actorKey } from '../../../core/structure/actors.ts'
import { type DiscardedAttempt, retractedFrom, workRetractedFrom } from '../../../core/structure/retraction.ts'
import { retractPieces } from '../../../core/structure/text-pieces.ts'
import { calledBy, citationsOf, contentOf, mediaOf, textOf, thoughtOf } from './content.ts'
import { families } from '../wire/families.ts'
import { metricsOf } from './metrics.ts'
import * as content from './project-content.ts'
import * as pauses from './project-pauses.ts'
import * as steps from './project-steps.ts'
import { type Frame, FrameWriter } from './frame-writer.ts'
import { ownMetadata, shownRunId } from '../wire/run-id.ts'
import { contentType } from '../wire/shapes.ts'
import { Speakers } from './speakers.ts'
import { OwnTexts } from './text-frames.ts'
import { rootOf, type Speaker, speakerOf, type State } from './state.ts'
import { valuesOf, retractFrom } from './persistent-list.ts'
import {
  awaitRelay,
  beginRelay,
  isDerived,
  lacksStart,
  noteStarted,
  relayedEnd,
  withoutFrames,
  upstreamReceived,
} from './relay.ts'
import { memberOutput } from './run-output.ts'

/** A component's metadata. */
export type Describe = (component: string) => { readonly kind: ComponentKind; readonly name: string } | undefined

export function agentosProjection(describe: Describe): Projection<State, Frame> {
  return {
    initial: (run) => initial(run, describe),
    apply(state, event) {
      const writer = new FrameWriter(startIfNew(state, event), event)
      if (lacksStart(writer.state, event)) started(writer, rootOf(writer.state))
      writer.isMuted = isDerived(writer.state, event.type)
      const handler = handlers[event.type] as Handler<EventType>
      handler(writer, event, describe)
      return { state: writer.end(), frames: writer.frames }
    },
    applyTexts: content.textDeltas,
  }
}

/** Built only from immutable fields of the run. */
function initial({ id, component, session, createdAt, metadata }: Run, describe: Describe): State {
  const { kind = 'agent', name = component } = describe(component) ?? {}
  const root = newSpeaker({ run: id, component, name, kind, depth: 0, input: undefined, startedAt: createdAt })
  const { user_id: userId, stream_events: streamEvents } = ownMetadata(metadata)
  return {
    run: id,
    shownId: shownRunId({ id, ...(metadata !== undefined && { metadata }) }),
    session,
    status: 'queued',
    createdAt,
    ...(typeof userId === 'string' && { userId }),
    ...(metadata !== undefined && { metadata }),
    allEvents: streamEvents !== false,
    next: 0,
    last: -1,
    speakers: Speakers.of(root),
    ownTexts: new OwnTexts(),
    steps: new Map(),
    questions: [],
    askedAt: createdAt,
  }
}

function newSpeaker(
  facts: Pick<Speaker, 'run' | 'component' | 'name' | 'kind' | 'depth' | 'input' | 'startedAt'> & Partial<Speaker>,
): Speaker {
  return {
    status: 'running',
    texts: undefined,
    thought: undefined,
    reasoning: false,
    calls: undefined,
    results: undefined,
    sources: undefined,
    media: undefined,
    stepOutputs: undefined,
    ...facts,
  }
}

/** A trimmed log is numbered from its log index, because the earlier frame count is unknown. */
function startIfNew(state: State, { index }: LoggedEvent): State {
  return state.last >= 0 || index === 0 ? state : { ...state, next: index, trimmedBefore: index }
}

type Handler<Type extends EventType> = (writer: FrameWriter, event: LoggedEventOf<Type>, describe: Describe) => void

const nothing = (): void => {}

const handlers: { readonly [Type in EventType]: Handler<Type> } = {
  'run.created': runCreated,
  'run.started': runStarted,
  'run.released': nothing,
  'run.paused': pauses.runPaused,
  'run.resumed': pauses.runResumed,
  'run.completed': runCompleted,
  'run.failed': (writer, { data }) => runFailed(writer, data.error),
  'run.rejected': (writer, { data }) => runFailed(writer, { code: 'rejected', message: data.reason }),
  'run.cancelled': runCancelled,
  'stop.requested': nothing,
  'attempt.discarded': attemptDiscarded,
  'actor.started': actorStarted,
  'actor.completed': actorCompleted,
  'actor.failed': actorFailed,
  'text.started': nothing,
  'text.delta': content.textDelta,
  'text.completed': nothing,
  'reasoning.started': content.reasoningStarted,
  'reasoning.delta': content.reasoningDelta,
  'reasoning.completed': content.reasoningCompleted,
  'tool.drafted': nothing,
  'tool.called': content.toolCalled,
  'tool.progressed': content.toolProgressed,
  'tool.completed': content.toolEnded,
  'tool.failed': content.toolEnded,
  'model.requested': content.modelRequested,
  'model.responded': content.modelResponded,
  'step.started': steps.stepStarted,
  'step.completed': steps.stepCompleted,
  'step.failed': steps.stepFailed,
  'step.skipped': steps.stepSkipped,
  'sleep.started': nothing,
  'artifact.added': content.artifactAdded,
  'source.cited': content.sourceCited,
  'state.replaced': content.stateChanged,
  'state.patched': content.stateChanged,
  'custom.emitted': content.customEmitted,
  'upstream.received': upstreamReceived,
}

function runCreated(writer: FrameWriter, event: LoggedEventOf<'run.created'>): void {
  beginRelay(writer, event)
  writer.keep({ ...rootOf(writer.state), input: event.data.input })
}

/** Recovery after a crash continues the same sequence of frames. */
function runStarted(writer: FrameWriter, event: LoggedEventOf<'run.started'>): void {
  writer.state = { ...writer.state, status: 'running' }
  if (!awaitRelay(writer) && event.data.attempt === 1) started(writer, rootOf(writer.state))
}

function started(writer: FrameWriter, speaker: Speaker): void {
  const { events } = families[speaker.kind]
  if (speaker.run === writer.state.run) noteStarted(writer)
  writer.write(speaker, events.started, speaker.kind === 'workflow' ? {} : { model: '', model_provider: '' })
}

function actorStarted(
  writer: FrameWriter,
  { actor, data, time }: LoggedEventOf<'actor.started'>,
  describe: Describe,
): void {
  if (actor === undefined || writer.state.speakers.has(actor.run)) return
  const parent = writer.state.speakers.get(actor.parent ?? '') ?? rootOf(writer.state)
  const known = describe(actor.component)
  const kind = actor.kind ?? known?.kind ?? 'agent'
  const workflow = parent.kind === 'workflow' ? parent.run : parent.workflow
  const step = parent.kind === 'workflow' ? stepFor(writer.state, parent, data.key) : parent.step
  const speaker = writer.keep(
    newSpeaker({
      run: actor.run,
      component: actor.component,
      name: known?.name ?? actor.component,
      kind,
      parent: parent.run,
      depth: parent.depth + (kind === 'workflow' && workflow !== undefined ? 1 : 0),
      ...(workflow !== undefined && { workflow }),
      ...(step !== undefined && { step }),
      input: data.input,
      startedAt: time,
    }),
  )
  const done = step === undefined ? undefined : writer.state.steps.get(step)
  if (done !== undefined && parent.kind === 'workflow') writer.keepStep({ ...done, executor: actor.run })
  started(writer, speaker)
}

/** The step that called an executor: the one with the same key, or the one started last. */
function stepFor({ steps: known }: State, parent: Speaker, key: string): string | undefined {
  const open = [...known.values()].filter((step) => step.workflow === parent.run && step.open)
  return (open.find(({ id }) => id === key) ?? open.at(-1))?.id
}

function actorCompleted(writer: FrameWriter, { data }: LoggedEventOf<'actor.completed'>): void {
  const { output, usage } = data
  const speaker = content.currentSpeaker(writer)
  completed(
    writer,
    writer.keep({ ...speaker, status: 'completed', outcome: { output }, ...(usage !== undefined && { usage }) }),
  )
}

function actorFailed(writer: FrameWriter, { data }: LoggedEventOf<'actor.failed'>): void {
  const speaker = content.currentSpeaker(writer)
  failed(writer, writer.keep({ ...speaker, status: 'failed', outcome: { error: data.error } }), data.error)
}

function runCompleted(writer: FrameWriter, { data }: LoggedEventOf<'run.completed'>): void {
  const root = endRun(writer, 'completed', { output: data.output })
  const usage = data.usage ?? root.usage
  const relayed = relayedEnd(writer.state, 'completed')
  if (relayed !== undefined) return writer.relay(families[root.kind].events.completed, relayed)
  completed(writer, writer.keep({ ...root, ...(usage !== undefined && { usage }) }))
}

function runFailed(writer: FrameWriter, error: Failure): void {
  const relayed = relayedEnd(writer.state, 'failed')
  if (relayed !== undefined) {
    const root = endRun(writer, 'failed', { error })
    return writer.relay(families[root.kind].events.failed, relayed)
  }
  failed(writer, endRun(writer, error.code === 'rejected' ? 'rejected' : 'failed', { error }), error)
}

/** Final: a stopped run must not look completed (RUN-3). */
function runCancelled(writer: FrameWriter, { data }: LoggedEventOf<'run.cancelled'>): void {
  const reason = data.reason ?? `Run ${writer.state.shownId} was cancelled`
  const root = rootOf(writer.state)
  for (const speaker of writer.state.speakers.values()) {
    if (speaker.run === root.run || speaker.status !== 'running') continue
    writer.keep({ ...speaker, status: 'cancelled', outcome: { reason } })
    cancelled(writer, speaker, reason)
  }
  cancelled(writer, endRun(writer, 'cancelled', { reason }), reason)
}

function cancelled(writer: FrameWriter, speaker: Speaker, reason: string): void {
  writer.write(speaker, families[speaker.kind].events.cancelled, {
    reason,
    content: contentOf(writer.state, speaker) ?? '',
  })
}

function endRun(writer: FrameWriter, status: State['status'], outcome: NonNullable<State['outcome']>): Speaker {
  writer.state = { ...writer.state, status, questions: [], outcome }
  const root = withoutFrames(writer, () => content.endReasoning(writer, rootOf(writer.state)))
  return writer.keep({ ...root, status, outcome })
}

function completed(writer: FrameWriter, speaker: Speaker): void {
  const { state } = writer
  const { events, kind } = families[speaker.kind]
  const whole = contentOf(state, speaker)
  const finalFields = {
    ...(whole !== undefined && { content: whole }),
    content_type: contentType(whole),
  }
  if (kind === 'workflow')
    return writer.write(speaker, events.completed, {
      ...finalFields,
      step_results: valuesOf(speaker.stepOutputs),
      ...metricsOf(state, speaker),
    })
  writer.writeShared(speaker, 'RunContentCompleted')
  const thought = thoughtOf(speaker)
  const members = kind === 'team' ? calledBy(state, speaker).map((member) => memberOutput(state, member)) : []
  writer.write(speaker, events.completed, {
    ...finalFields,
    ...(thought !== '' && { reasoning_content: thought }),
    ...citationsOf(speaker),
    ...mediaOf(speaker),
    ...metricsOf(state, speaker),
    ...(members.length > 0 && { member_responses: members }),
  })
}

/** Only the message, kind and error id; the stack is in the server's log. */
function failed(writer: FrameWriter, speaker: Speaker, { code, message, details }: Failure): void {
  const { events, errorField } = families[speaker.kind]
  const { id, ...facts } = (details ?? {}) as Readonly<Record<string, unknown>>
  writer.write(speaker, events.failed, {
    [errorField]: message,
    error_type: code,
    ...(typeof id === 'string' && { error_id: id }),
    ...(Object.keys(facts).length > 0 && { additional_data: facts }),
  })
}

/** AgentOS has no event for retracted output: a custom event carries the remaining content, and the final content is correct. */
function attemptDiscarded(writer: FrameWriter, event: DiscardedAttempt): void {
  const { scope, reason } = event.data
  // An actor whose start was trimmed is shown as the run's own component, so its retraction applies to the run.
  const { actor, ...ofRun } = event
  const discarded = actor !== undefined && writer.state.speakers.has(actor.run) ? event : ofRun
  for (const speaker of writer.state.speakers.values()) {
    const whose = speaker.run === writer.state.run ? actorKey(undefined) : speaker.run
    const from = retractedFrom(discarded, whose)
    if (from < Infinity) writer.keep(retracted(speaker, from, workRetractedFrom(discarded, whose)))
  }
  const left = speakerOf(writer.state, actor)
  writer.custom(left, 'output.withdrawn', { scope, reason, content: textOf(left) })
}

function retracted(speaker: Speaker, from: number, workFrom: number): Speaker {
  const stays = ({ recorded }: { readonly recorded: boolean }): boolean => recorded && workFrom > from
  return {
    ...speaker,
    texts: retractPieces(speaker.texts, from),
    thought: retractPieces(speaker.thought, from),
    sources: retractFrom(speaker.sources, from),
    media: retractFrom(speaker.media, from),
    calls: retractFrom(speaker.calls, from, stays),
    results: retractFrom(speaker.results, from, stays),
    stepOutputs: retractFrom(speaker.stepOutputs, workFrom),
  }
}
