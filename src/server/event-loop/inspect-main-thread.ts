/** Pauses the main thread briefly to see which run's code it executes. */
import { type Debugger, Session } from 'node:inspector'
import { EXECUTION_SYMBOL, type BlockingRun } from './messages.ts'

/** The main thread can only be paused in JavaScript, not in a long native call. */
const PAUSE_MS = 5000
const FRAMES_MAX = 10

/** Returns no frames if the thread could not be paused, and undefined if it is no longer blocked. */
export async function inspectMainThread(isBlocked: () => boolean): Promise<BlockingRun | undefined> {
  const session = new Session()
  session.connectToMainThread()
  try {
    const suspect = await pausedIn(session)
    return isBlocked() ? suspect : undefined
  } finally {
    session.disconnect() // also resumes the main thread
  }
}

function pausedIn(session: Session): Promise<BlockingRun> {
  const urls = new Map<string, string>()
  session.on('Debugger.scriptParsed', ({ params }) => urls.set(params.scriptId, params.url))
  return new Promise((resolve) => {
    const late = setTimeout(() => resolve({ frames: [] }), PAUSE_MS)
    session.once('Debugger.paused', ({ params: { callFrames } }) => {
      const frames = callFrames.slice(0, FRAMES_MAX).map((frame) => describe(frame, urls))
      const question = {
        // Node's internal modules shadow globals.
        callFrameId: (callFrames.find(({ location }) => !isOfNode(urls, location)) ?? callFrames[0]!).callFrameId,
        expression: `globalThis[Symbol.for('${EXECUTION_SYMBOL}')]?.()`,
        returnByValue: true,
      }
      session.post(
        'Debugger.evaluateOnCallFrame',
        question,
        (_error, answer?: Debugger.EvaluateOnCallFrameReturnType) => {
          clearTimeout(late)
          session.post('Debugger.resume')
          const whose = (answer?.result.value ?? {}) as Pick<BlockingRun, 'run' | 'component'>
          resolve({ ...whose, frames })
        },
      )
    })
    session.post('Debugger.enable')
    session.post('Debugger.pause')
  })
}

function isOfNode(urls: ReadonlyMap<string, string>, { scriptId }: Debugger.Location): boolean {
  return urls.get(scriptId)?.startsWith('node:') ?? true
}

function describe({ functionName, location }: Debugger.CallFrame, urls: ReadonlyMap<string, string>): string {
  return `${functionName || '(anonymous)'} ${urls.get(location.scriptId) ?? ''}:${location.lineNumber + 1}`
}
