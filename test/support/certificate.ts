/** A self-signed certificate for local servers. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { ensureAptPackage } from './apt.ts'

/** Files. */
export interface Certificate {
  readonly certificate: string
  readonly key: string
}

const OPENSSL = '/usr/bin/openssl'

/** Removed after the test file. */
export async function createCertificate(): Promise<Certificate> {
  await ensureAptPackage('openssl', OPENSSL)
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-certificate-'))
  afterAll(() => rmSync(folder, { recursive: true, force: true }))
  const [certificate, key] = [join(folder, 'certificate.pem'), join(folder, 'key.pem')]
  const subject = ['-subj', '/CN=holdfast test', '-addext', 'subjectAltName=DNS:localhost', '-days', '2']
  const files = ['-nodes', '-keyout', key, '-out', certificate]
  execFileSync(
    OPENSSL,
    ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', ...subject, ...files],
    {
      stdio: 'pipe',
    },
  )
  return { certificate, key }
}
