/** Where the committing thread's code is. A module of its own: only this one has to stay beside that file when the build joins modules. */
export const committingWorkerUrl = new URL(
  import.meta.url.endsWith('.ts') ? './committing-worker.ts' : './committing-worker.js',
  import.meta.url,
)
