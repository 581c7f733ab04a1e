/** Where the reading thread's code is. A module of its own: only this one has to stay beside that file when the build joins modules. */
export const readingWorkerUrl = new URL(
  import.meta.url.endsWith('.ts') ? './reading-worker.ts' : './reading-worker.js',
  import.meta.url,
)
