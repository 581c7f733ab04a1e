/** The OpenAPI document of the native protocol. A test compares it with the route table. */
import { z } from 'zod'
import type { Component } from '../../../core/ports/component.ts'
import { type ComponentBodies, componentBodies } from './component-bodies.ts'
import {
  componentShape,
  eventShape,
  forgetBody,
  forgottenShape,
  linksShape,
  answerBody,
  problemShape,
  renameBody,
  runShape,
  sessionShape,
  shareBody,
  shareShape,
  startBody,
  stopBody,
} from './shapes.ts'

const shapes = {
  Start: startBody,
  Stop: stopBody,
  Answers: answerBody,
  NewShare: shareBody,
  Share: shareShape,
  Rename: renameBody,
  Session: sessionShape,
  Forget: forgetBody,
  Forgotten: forgottenShape,
  Run: runShape,
  Links: linksShape,
  Event: eventShape,
  Component: componentShape,
  Problem: problemShape,
}

/** `base`: path of the protocol. `components`: those whose inputs are described. */
export function openApiDocument(version: string, base = '', components: readonly Component[] = []): object {
  const general = Object.fromEntries(Object.entries(shapes).map(([key, shape]) => [key, toSchema(shape)]))
  const { schemas, mapping } = componentBodies(components, general['Start']!)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Holdfast native protocol',
      version,
      description: 'Agent runs as durable logs.',
      license: { name: 'Apache-2.0' },
    },
    servers: [{ url: base === '' ? '/' : base }],
    paths: Object.keys(schemas).length === 0 ? paths : withStarts(mapping),
    components: {
      schemas: { ...general, ...schemas },
      responses: {
        Problem: { description: 'The error.', content: { 'application/problem+json': { schema: ref('Problem') } } },
      },
      securitySchemes: {
        bearer: { type: 'http', scheme: 'bearer' },
        share: { type: 'apiKey', in: 'query', name: 'share', description: 'The token of a share link.' },
      },
    },
    security: [{ bearer: [] }, {}],
  }
}

/** Components without a schema are started with any input. */
function withStarts(mapping: ComponentBodies['mapping']): object {
  const { post, ...others } = paths['/runs']
  const starts = Object.values(mapping).map((name) => ({ $ref: name }))
  const schema = { anyOf: [...starts, ref('Start')], discriminator: { propertyName: 'component', mapping } }
  const requestBody = { required: true, content: { 'application/json': { schema } } }
  return { ...paths, '/runs': { ...others, post: { ...post, requestBody } } }
}

function toSchema(shape: z.ZodType): object {
  const { $schema: _dialect, ...schema } = z.toJSONSchema(shape, {
    io: 'input',
    reused: 'inline',
    unrepresentable: 'any',
  })
  return schema
}

function ref(name: keyof typeof shapes): object {
  return { $ref: `#/components/schemas/${name}` }
}

function json(description: string, schema: object, headers?: object): object {
  return { description, content: { 'application/json': { schema } }, ...(headers !== undefined && { headers }) }
}

/** An object with an array of these, and other fields. */
function list(name: string, item: keyof typeof shapes, others: object = {}, required = [name]): object {
  return { type: 'object', properties: { [name]: { type: 'array', items: ref(item) }, ...others }, required }
}

function problems(...statuses: number[]): object {
  return Object.fromEntries(
    [401, 429, 503, ...statuses].map((status) => [status, { $ref: '#/components/responses/Problem' }]),
  )
}

function query(name: string, schema: object, description: string): object {
  return { name, in: 'query', schema, description }
}

function body(name: keyof typeof shapes, required: boolean): object {
  return { required, content: { 'application/json': { schema: ref(name) } } }
}

const id = { name: 'id', in: 'path', required: true, schema: { type: 'string' }, description: 'Run id.' }
const sessionId = { ...id, description: 'Session id.' }
const text = { type: 'string' }
const count = { type: 'integer', minimum: 1 }
const index = { type: 'integer', minimum: 0 }
const milliseconds = { type: 'integer', minimum: 0 }
const location = { location: { schema: text, description: 'Path of the run.' } }
const total = { type: 'integer', description: 'How many match, on all pages.' }
const snapshot = {
  type: 'object',
  description: 'If requested: the structure of the run after the event `cursor`.',
  properties: {
    run: text,
    cursor: { type: 'integer' },
    id: { type: 'string', description: 'The cursor with a checksum, for Last-Event-ID.' },
    earliest: { type: 'integer', description: 'Only of a trimmed log.' },
    structure: { type: 'object', description: 'For `RunStructure.restore` of `holdfast/structure`.' },
  },
  required: ['run', 'cursor', 'id', 'structure'],
}
const page = list(
  'events',
  'Event',
  { snapshot, cursor: { type: 'integer' }, done: { type: 'boolean' }, earliest: { type: 'integer' } },
  ['events', 'cursor', 'done'],
)
const gap = {
  type: 'object',
  description: 'Events of the run before `earliest` were trimmed.',
  properties: { run: text, earliest: { type: 'integer' } },
}
const sessionPage = list('events', 'Event', { cursor: text, gap }, ['events', 'cursor'])
const healthResponses = {
  200: json('It can.', { type: 'object' }),
  503: json('It cannot; the body says why.', { type: 'object' }),
}

const metrics = {
  get: {
    summary: 'Figures of this node in the text format of Prometheus. Requires the scope admin.',
    responses: {
      200: { description: 'The figures.', content: { 'text/plain': { schema: { type: 'string' } } } },
      ...problems(403),
    },
  },
}

const paths = {
  '/components': {
    get: {
      summary: 'Lists the components.',
      parameters: [
        query(
          'format',
          { enum: ['openapi'] },
          'Instead of the list: this document, with the bodies that start each component.',
        ),
      ],
      responses: {
        200: json('Components.', list('components', 'Component')),
        ...problems(400),
      },
    },
  },
  '/runs': {
    post: {
      summary: 'Starts a run. With Accept: text/event-stream the response is its event stream.',
      parameters: [
        {
          name: 'Idempotency-Key',
          in: 'header',
          schema: text,
          description: 'Deduplicates starts: the same key and body return the same run.',
        },
      ],
      requestBody: body('Start', true),
      responses: {
        200: {
          description: 'The event stream, if requested.',
          content: { 'text/event-stream': { schema: text } },
          headers: location,
        },
        202: json('Accepted.', ref('Run'), location),
        ...problems(400, 403, 404, 409, 413, 507),
      },
    },
    get: {
      summary: 'Lists runs, newest first.',
      parameters: [
        query('component', text, 'Only runs of this component.'),
        query('session', text, 'Only runs of this session.'),
        query('status', text, 'Only runs with these statuses, separated by commas.'),
        query('version', text, 'Only runs last executed by this version of their component.'),
        query('limit', count, 'Runs per page.'),
        query('cursor', text, 'The cursor of the previous page.'),
      ],
      responses: {
        200: json('A page.', list('runs', 'Run', { cursor: text, unreadable: { type: 'integer' } })),
        ...problems(400),
      },
    },
  },
  '/runs/{id}': {
    parameters: [id],
    get: { summary: 'One run.', responses: { 200: json('The run.', ref('Run')), ...problems(404) } },
    delete: {
      summary: 'Deletes a finished run.',
      responses: { 204: { description: 'Removed.' }, ...problems(403, 404, 409) },
    },
  },
  '/runs/{id}/events': {
    parameters: [id],
    get: {
      summary: 'Reads the log from a cursor: as server-sent events, NDJSON, or pages of JSON with long-polling.',
      parameters: [
        {
          name: 'Last-Event-ID',
          in: 'header',
          schema: text,
          description:
            'Id of the last event that the client has. With `~` and the CRC-32 of its frame, the server verifies it against the log.',
        },
        query('after', text, 'Like Last-Event-ID, for clients that cannot set headers. `end`: only new events.'),
        query('tail', index, 'Starts with this many of the last events.'),
        query(
          'snapshot',
          { enum: ['1'] },
          "Starts with the run's structure, followed by the events after it. Not if Last-Event-ID is sent.",
        ),
        query(
          'types',
          text,
          'Only events of these types, separated by commas; `tool.*` for all of a kind. The terminal event and `attempt.discarded` are always delivered.',
        ),
        query(
          'actors',
          text,
          "Only events of these actors, by run id or component, separated by commas; the run's id for its own component.",
        ),
        query('share', text, 'The token of a share link, instead of a credential.'),
        query('format', { enum: ['sse', 'json', 'ndjson'] }, 'Instead of Accept.'),
        query('wait', milliseconds, 'JSON: how long to wait for a new event.'),
        query('limit', count, 'JSON: events per page.'),
      ],
      responses: {
        200: {
          description: 'Events.',
          content: {
            'text/event-stream': { schema: text },
            'application/x-ndjson': { schema: text },
            'application/json': { schema: page },
          },
        },
        204: { description: 'The run has ended and the client has every event.' },
        303: { description: 'Redirects a browser with a share link to the page of the run.' },
        ...problems(400, 404, 409, 410, 413),
      },
    },
  },
  '/runs/{id}/links': {
    parameters: [id],
    get: {
      summary: 'What each protocol calls the run, and a position in the positions of all protocols.',
      parameters: [
        query('protocol', text, 'Protocol of the position. Default: the end of the log.'),
        query('position', { type: 'integer', minimum: -1 }, 'Number of the last event that the client has.'),
      ],
      responses: { 200: json('Links.', ref('Links')), ...problems(400, 404, 410) },
    },
  },
  '/runs/{id}/stop': {
    parameters: [id],
    post: {
      summary: 'Requests a stop. Idempotent; no effect on a finished run.',
      parameters: [query('wait', milliseconds, 'How long to wait for the run to end.')],
      requestBody: body('Stop', false),
      responses: {
        200: json('The run has ended.', ref('Run')),
        202: json('The stop is recorded.', ref('Run')),
        ...problems(400, 403, 404, 413),
      },
    },
  },
  '/runs/{id}/answers': {
    parameters: [id],
    post: {
      summary: 'Answers the questions of a paused run, which then continues.',
      requestBody: body('Answers', true),
      responses: { 202: json('The run continues.', ref('Run')), ...problems(400, 403, 404, 409, 413) },
    },
  },
  '/runs/{id}/shares': {
    parameters: [id],
    post: {
      summary: 'Creates a link that gives access to this run only.',
      requestBody: body('NewShare', false),
      responses: { 201: json('The link.', ref('Share'), location), ...problems(400, 403, 404, 413, 507) },
    },
    get: {
      summary: 'Lists the links of a run that have not expired.',
      responses: {
        200: json('Links, without their tokens.', list('shares', 'Share')),
        ...problems(403, 404),
      },
    },
  },
  '/runs/{id}/shares/{share}': {
    parameters: [id, { name: 'share', in: 'path', required: true, schema: text, description: 'Id of the link.' }],
    delete: {
      summary: 'Revokes a link. Its open streams end within two seconds.',
      responses: { 204: { description: 'Revoked.' }, ...problems(403, 404) },
    },
  },
  '/native/sessions': {
    get: {
      summary: 'Lists sessions, newest first.',
      parameters: [
        query('component', text, 'Only sessions whose first run is of this component.'),
        query('name', text, 'Only sessions whose name contains this, in any case.'),
        query('limit', count, 'Sessions on a page. Default: 50.'),
        query('cursor', text, 'The cursor of the previous page.'),
      ],
      responses: {
        200: json('A page.', list('sessions', 'Session', { total, cursor: text }, ['sessions', 'total'])),
        ...problems(400, 413),
      },
    },
  },
  '/native/sessions/{id}/events': {
    parameters: [sessionId],
    get: {
      summary:
        'Follows all runs of a session, present and future: as server-sent events, or pages of JSON with long-polling.',
      parameters: [
        {
          name: 'Last-Event-ID',
          in: 'header',
          schema: text,
          description: 'Id of the last event that the client has: a cursor on all runs of the session.',
        },
        query('after', text, 'Like Last-Event-ID, for clients that cannot set headers. `end`: only what is new.'),
        query('format', { enum: ['sse', 'json'] }, 'Instead of Accept.'),
        query('wait', milliseconds, 'JSON: how long to wait for a new event.'),
        query('limit', count, 'JSON: events per page.'),
      ],
      responses: {
        200: {
          description: 'Events. Those of one run are in order.',
          content: { 'text/event-stream': { schema: text }, 'application/json': { schema: sessionPage } },
        },
        ...problems(400),
      },
    },
  },
  '/native/sessions/{id}': {
    parameters: [sessionId],
    get: { summary: 'One session.', responses: { 200: json('The session.', ref('Session')), ...problems(404) } },
    patch: {
      summary: 'Renames a session.',
      requestBody: body('Rename', true),
      responses: { 200: json('The session.', ref('Session')), ...problems(400, 403, 404, 409, 413) },
    },
    delete: {
      summary: 'Removes a session with all its runs. Runs that have not ended are stopped first.',
      responses: { 204: { description: 'Removed.' }, ...problems(403, 404, 409) },
    },
  },
  '/admin/forget': {
    post: {
      summary: 'Deletes all data of a principal, API keys first. Requires the scope admin. Idempotent.',
      requestBody: body('Forget', true),
      responses: {
        200: {
          description: 'Progress lines; the last line is the report or an error.',
          content: { 'application/x-ndjson': { schema: ref('Forgotten') } },
        },
        ...problems(400, 403, 409, 413),
      },
    },
  },
  '/metrics': metrics,
  '/admin/metrics': metrics,
  '/health': {
    get: {
      summary: 'Whether the server can accept runs.',
      security: [],
      responses: healthResponses,
    },
  },
  '/health/ready': {
    get: {
      summary: 'Whether the server can accept runs now. Queries the store, with a timeout of two seconds.',
      security: [],
      responses: healthResponses,
    },
  },
  '/openapi.json': {
    get: { summary: 'This document.', security: [], responses: { 200: json('OpenAPI 3.1.', { type: 'object' }) } },
  },
}
