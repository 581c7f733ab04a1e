/** Live list of runs by long polling, paused while the page is hidden. A search continues through older runs by itself. */
import { useEffect, useState } from 'react'
import { readRuns } from '../api.ts'
import type { Session } from '../session.ts'
import { firstPage, type FoundRuns, goesOn, withHead, withMore } from './found-runs.ts'

const RETRY_MS = 2000
const RETRY_MS_MAX = 30_000

export interface LiveRuns {
  readonly found: FoundRuns | undefined
  readonly problem: unknown
}

export function useLiveRuns(session: Session, query: string): LiveRuns {
  const [live, setLive] = useState<LiveRuns & { query: string }>({ found: undefined, problem: undefined, query })
  useEffect(() => {
    const leaving = new AbortController()
    const show = (found: FoundRuns): void => {
      if (!leaving.signal.aborted) setLive({ found, problem: undefined, query })
    }
    const fail = (problem: unknown): void => setLive((before) => ({ ...before, problem, query }))
    void follow(session, query, leaving.signal, show, fail)
    return () => leaving.abort()
  }, [session, query])
  return live.query === query ? live : { found: undefined, problem: undefined }
}

/** Retries failures with growing delays. */
async function follow(
  session: Session,
  query: string,
  signal: AbortSignal,
  show: (found: FoundRuns) => void,
  fail: (problem: unknown) => void,
): Promise<void> {
  let found: FoundRuns | undefined
  for (let failures = 0; !signal.aborted;) {
    await visible(signal)
    try {
      if (found !== undefined && goesOn(found)) {
        found = withMore(found, await readRuns(session, at(query, found), undefined, signal))
      } else {
        const head = await readRuns(session, query, found?.head?.version, signal)
        found = found === undefined ? firstPage(head) : withHead(found, head)
      }
      show(found)
      failures = 0
    } catch (problem) {
      if (signal.aborted) return
      fail(problem)
      await new Promise((resolve) => setTimeout(resolve, Math.min(RETRY_MS * 2 ** failures++, RETRY_MS_MAX)))
    }
  }
}

function at(query: string, { cursor }: FoundRuns): string {
  const further = new URLSearchParams(query)
  if (cursor !== undefined) further.set('cursor', cursor)
  return further.toString()
}

function visible(signal: AbortSignal): Promise<void> {
  if (document.visibilityState === 'visible') return Promise.resolve()
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.visibilityState !== 'visible' && !signal.aborted) return
      document.removeEventListener('visibilitychange', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    signal.addEventListener('abort', look, { once: true })
  })
}
