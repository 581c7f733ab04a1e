/** Encoder and parser for server-sent events. */
export { encodeFrame, encodeJson, encodeRetry, type Frame, HEARTBEAT } from './encode.ts'
export { EventParser, FrameTooLargeError, type ParsedEvent, type ParseListener } from './parse.ts'
