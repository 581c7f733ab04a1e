/** The system's Chromium, launched once for a test file. */
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium } from 'playwright-core'
import { afterAll, onTestFinished } from 'vitest'
import { canInstallPackages, ensureAptPackage } from '../support/apt.ts'

const CHROMIUM = '/usr/bin/chromium'
const FLAGS = [
  '--headless',
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** For a busy machine. */
const WITHIN_MS = 180_000

/** If there is no browser and none can be installed, tests are skipped, except in CI. */
export const hasChromium: boolean = existsSync(CHROMIUM) || canInstallPackages() || process.env['CI'] === 'true'

/** Creates a separate browser profile for each test. */
export function useChromium(): () => Promise<BrowserContext> {
  let launched: Promise<Browser> | undefined
  afterAll(async () => (await launched)?.close())
  return async () => {
    launched ??= launchChromium()
    const context = await (await launched).newContext()
    context.setDefaultTimeout(WITHIN_MS)
    onTestFinished(() => context.close())
    return context
  }
}

/** For programs other than tests: the caller closes it. */
export async function launchChromium(): Promise<Browser> {
  await ensureAptPackage('chromium', CHROMIUM)
  return chromium.launch({ executablePath: CHROMIUM, args: FLAGS, timeout: 60_000 })
}
