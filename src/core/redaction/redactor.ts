/** Redacts what enters logs and documents, by the rules of the server and of components. */
import type { Event } from '../model/event.ts'
import { hasContent, mapContent, restoreFixed } from './event-content.ts'
import { RedactionFailure } from './failure.ts'
import { Matcher, nameOf } from './matcher.ts'
import { type RedactHook, type RedactOptions, type Rules, toRules } from './redaction.ts'
import { redactValue } from './values.ts'

export class Redactor {
  readonly matcher: Matcher
  readonly #rules: Rules

  constructor(rules: Rules) {
    this.#rules = rules
    this.matcher = new Matcher(rules.patterns)
  }

  text(text: string): string {
    return this.matcher.redact(text)
  }

  /** Redacts a JSON value, by the patterns only. */
  value(value: unknown): unknown {
    return redactValue(this.matcher, value)
  }

  /** Redacts an event whose data is JSON. */
  event(event: Event): Event {
    if (!hasContent(event.type)) return event
    try {
      return this.hooked(this.matcher.isEmpty ? event : mapContent(event, (value) => this.value(value)))
    } catch (cause) {
      const emptied = cause instanceof RedactionFailure ? withoutContent(event, cause) : undefined
      if (emptied === undefined) throw cause
      return emptied
    }
  }

  /** Applies only the hooks, for texts whose patterns were matched across deltas. */
  hooked(event: Event): Event {
    return this.#rules.hooks.reduce(applyHook, event)
  }

  with(options: RedactOptions | undefined): Redactor {
    if (options === undefined) return this
    const { patterns, hooks } = toRules(options)
    const isKnown = patterns.every((each) => this.#rules.patterns.includes(each))
    if (isKnown && hooks.every((each) => this.#rules.hooks.includes(each))) return this
    return new Redactor({
      patterns: [...new Set([...this.#rules.patterns, ...patterns])],
      hooks: [...new Set([...this.#rules.hooks, ...hooks])],
    })
  }
}

/** Undefined if nothing is redacted. */
export function redactorOf(server: Redactor | undefined, options: RedactOptions | undefined): Redactor | undefined {
  if (options === undefined) return server
  return (server ?? new Redactor({ patterns: [], hooks: [] })).with(options)
}

function applyHook(event: Event, hook: RedactHook): Event {
  let returned: unknown
  try {
    returned = hook(structuredClone(event))
  } catch (cause) {
    throw new RedactionFailure('event hook', `threw ${nameOf(cause)} for ${event.type}`)
  }
  if (returned instanceof Promise) {
    returned.catch(() => {}) // the failure is that it is a promise
    throw new RedactionFailure('event hook', `returned a promise for ${event.type}, and must be synchronous`)
  }
  const restored = restoreFixed(event, returned)
  if (restored === undefined) throw new RedactionFailure('event hook', `did not return a valid ${event.type}`)
  return restored
}

/** Terminal events and stop requests must be logged even if a hook fails for them. */
function withoutContent(event: Event, { failure }: RedactionFailure): Event | undefined {
  switch (event.type) {
    case 'run.failed': {
      const { error, ...data } = event.data
      return { ...event, data: { ...data, error: { ...failure, code: error.code } } }
    }
    case 'run.cancelled':
    case 'stop.requested': {
      const { reason: _reason, ...data } = event.data
      return { ...event, data }
    }
    default:
      return undefined
  }
}
