/** Where the watchdog's code is. A module of its own: only this one has to stay beside that file when the build joins modules. */
export const watchdogThreadUrl = new URL(
  import.meta.url.endsWith('.ts') ? './watchdog-thread.ts' : './watchdog-thread.js',
  import.meta.url,
)
