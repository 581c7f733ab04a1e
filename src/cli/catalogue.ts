/** Every command by name. Commands are loaded lazily, to keep startup fast. */
import type { Catalogue } from './command.ts'

/** In the order of the help. */
export const catalogue: Catalogue = {
  serve: {
    summary: 'Serve the components that a module exports',
    load: async () => (await import('./commands/serve.ts')).serve,
  },
  dev: {
    summary: 'Serve a module, and reload it on every change',
    load: async () => (await import('./commands/dev.ts')).dev,
  },
  demo: {
    summary: 'Serve ready-made components to try things out',
    load: async () => (await import('./commands/demo.ts')).demo,
  },
  gateway: {
    summary: 'Serve the agents of other servers, with durable streams',
    load: async () => (await import('./commands/gateway.ts')).gateway,
  },
  worker: {
    summary: 'Execute runs from a shared store, without HTTP',
    load: async () => (await import('./commands/worker.ts')).worker,
  },
  run: {
    summary: 'Start a run and follow it to its end',
    load: async () => (await import('./commands/run.ts')).run,
  },
  runs: {
    summary: 'List runs, newest first',
    load: async () => (await import('./commands/runs.ts')).runs,
  },
  show: {
    summary: "Show a run's current state",
    load: async () => (await import('./commands/show.ts')).show,
  },
  tail: {
    summary: 'Follow a run from the beginning or from a cursor',
    load: async () => (await import('./commands/tail.ts')).tail,
  },
  stop: { summary: 'Stop a run', load: async () => (await import('./commands/stop.ts')).stop },
  answer: {
    summary: 'Answer the question of a paused run',
    load: async () => (await import('./commands/answer.ts')).answer,
  },
  share: {
    summary: 'Create, list and revoke links to one run',
    load: async () => (await import('./commands/share.ts')).share,
  },
  replay: {
    summary: 'Replay a run at its original speed or faster',
    load: async () => (await import('./commands/replay.ts')).replay,
  },
  export: {
    summary: 'Write the log of a finished run as NDJSON',
    load: async () => (await import('./commands/export.ts')).exportRun,
  },
  import: {
    summary: 'Import an exported run into a store',
    load: async () => (await import('./commands/import.ts')).importRun,
  },
  copy: {
    summary: 'Copy everything from one store to another',
    load: async () => (await import('./commands/copy.ts')).copy,
  },
  backup: {
    summary: 'Back up a SQLite store, even while it is in use',
    load: async () => (await import('./commands/backup.ts')).backup,
  },
  restore: {
    summary: 'Replace a SQLite store with a backup',
    load: async () => (await import('./commands/restore.ts')).restore,
  },
  doctor: {
    summary: 'Diagnose problems and say how to fix them',
    load: async () => (await import('./commands/doctor.ts')).doctor,
  },
  gc: {
    summary: 'Apply retention limits to a store now',
    load: async () => (await import('./commands/gc.ts')).gc,
  },
  forget: {
    summary: 'Delete all data of a principal',
    load: async () => (await import('./commands/forget.ts')).forget,
  },
  migrate: {
    summary: 'Migrate the schema of a store',
    load: async () => (await import('./commands/migrate.ts')).migrate,
  },
  keys: {
    summary: 'Create, list and revoke API keys',
    load: async () => (await import('./commands/keys.ts')).keysCommand,
  },
  new: {
    summary: 'Create a small project',
    load: async () => (await import('./commands/new.ts')).newProject,
  },
  completion: {
    summary: 'Print a shell completion script',
    load: async () => (await import('./commands/completion.ts')).completionOf(catalogue),
  },
}
