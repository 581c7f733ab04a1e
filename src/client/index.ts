/** `holdfast/client`: start and follow runs from any program or page. */
export {
  type Client,
  type ClientOptions,
  type Components,
  createClient,
  type Runs,
  type StartOptions,
} from './client.ts'
export type { FollowSessionOptions, SessionStream } from './follow-session.ts'
export type { OpenRun, SessionHandle, Sessions } from './sessions.ts'
export type { AssistantMessage, MessagePart, SessionMessage, ToolPart, UserMessage } from './session-view.ts'
export {
  ApiError,
  ClientError,
  type ClientErrorOptions,
  ConnectionError,
  GapError,
  LogChangedError,
  RunError,
} from './errors.ts'
export type { OnProblem } from './backoff.ts'
export type { HeaderRecord, HeaderSource } from './header-source.ts'
export type { OnGap, OnLogChanged, SnapshotFrame } from './follow.ts'
export type { EventsOptions, ReadOptions, RunHandle, RunStream, StopOptions, TextOptions } from './run.ts'
export type { RunSnapshot, SnapshotOptions } from './snapshot.ts'
export { RunText } from './text.ts'
export type { TransportOptions } from './transport.ts'
export type {
  RequestOptions,
  Answers,
  ComponentInfo,
  LinksOptions,
  RunFilter,
  RunInfo,
  RunLink,
  RunLinks,
  RunPage,
  SessionFilter,
  SessionInfo,
  SessionPage,
  ShareAction,
  ShareInfo,
  ShareLink,
  ShareOptions,
  StartRequest,
} from './types.ts'
export { RunView, type RunViewState } from './view.ts'
export type { Actor, Event, EventData, EventType, Failure, LoggedEvent, Question, Usage } from '../core/model/event.ts'
export type { RunStatus } from '../core/model/run.ts'
