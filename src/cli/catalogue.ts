/** Every command by its name. A command is loaded when it is called: the start of a server waits for none of the others. */
import type { Catalogue } from './command.ts'

/** In the order of the help. */
export const catalogue: Catalogue = {
  serve: {
    summary: 'Serve the components that a module exports',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  dev: {
    summary: 'Serve them, and take up every change of the module while runs go on',
    load: async () => (await import('./commands/dev.ts')).dev,
  },
  demo: {
    summary: 'Serve ready-made components, to try things out',
    load: async () => (await import('./commands/demo.ts')).demo,
  },
  worker: {
    summary: 'Drive runs without HTTP, on a store that is shared with servers',
    load: async () => (await import('./commands/worker.ts')).worker,
  },
  run: {
    summary: 'Start a run and follow it to its end',
    load: async () => (await import('./commands/run.ts')).run,
  },
  runs: {
    summary: 'List runs, newest first; --watch keeps the list current',
    load: async () => (await import('./commands/runs.ts')).runs,
  },
  show: {
    summary: 'Say all about a run as it is now',
    load: async () => (await import('./commands/show.ts')).show,
  },
  tail: {
    summary: 'Follow a run, from its beginning or from an event on',
    load: async () => (await import('./commands/tail.ts')).tail,
  },
  stop: { summary: 'Stop a run', load: async () => (await import('./commands/stop.ts')).stop },
  answer: {
    summary: 'Answer what a paused run asks',
    load: async () => (await import('./commands/answer.ts')).answer,
  },
  share: {
    summary: 'Make, list and revoke links to one run',
    load: async () => (await import('./commands/share.ts')).share,
  },
  replay: {
    summary: 'Show a run again as it happened, or faster',
    load: async () => (await import('./commands/replay.ts')).replay,
  },
  export: {
    summary: 'Write the log of a finished run as NDJSON',
    load: async () => (await import('./commands/export.ts')).exportRun,
  },
  import: {
    summary: 'Put an exported run into a store',
    load: async () => (await import('./commands/import.ts')).importRun,
  },
  copy: {
    summary: 'Copy everything from one store into another',
    load: async () => (await import('./commands/copy.ts')).copy,
  },
  backup: {
    summary: 'Write a verified copy of a SQLite store, also while it is in use',
    load: async () => (await import('./commands/backup.ts')).backup,
  },
  restore: {
    summary: 'Put a backup in place of a SQLite store',
    load: async () => (await import('./commands/restore.ts')).restore,
  },
  doctor: {
    summary: 'Look for what is wrong, and say what to do',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  gc: {
    summary: 'Trim finished runs that are too old or too many, now',
    load: async () => (await import('./commands/gc.ts')).gc,
  },
  forget: {
    summary: 'Delete everything that a principal has',
    load: async () => (await import('./commands/forget.ts')).forget,
  },
  migrate: {
    summary: 'Bring the schema of a store up to date',
    load: async () => (await import('./commands/migrate.ts')).migrate,
  },
  keys: {
    summary: 'Make, list and revoke API keys',
    load: async () => (await import('./commands/keys.ts')).keysCommand,
  },
  new: {
    summary: 'Write a small project to start from',
    load: async () => (await import('./commands/new.ts')).newProject,
  },
  completion: {
    summary: 'Print a script that completes commands and options in a shell',
    load: async () => (await import('./commands/completion.ts')).completionOf(catalogue),
  },
}
