/** Continues runs that a crash interrupted when the server starts. */
export async function register(): Promise<void> {
  if (process.env.NEXT_RUNTIME !== 'nodejs') return
  const { hf } = await import('./agents.ts')
  await hf.ready()
}
