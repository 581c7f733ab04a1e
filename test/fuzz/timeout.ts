/** A timeout whose error names what did not happen. */

export class Hang extends Error {
  override readonly name = 'Hang'
}

export async function withTimeout<Result>(work: Promise<Result>, withinMs: number, what: string): Promise<Result> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(new Hang(`${what} within ${withinMs} ms`)), withinMs)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}
