/**
 * `npm run sbom`: a software bill of materials of the runtime dependencies, as CycloneDX JSON. Written to `dist/sbom.cdx.json`, or to
 * standard output with `npm run -s sbom -- --stdout`.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { command, root } from './command.ts'
import { runtimeBom } from './runtime-bom.ts'

const { values } = parseArgs({ options: { stdout: { type: 'boolean', default: false } } })
const described = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Parameters<typeof runtimeBom>[1]
const bom = runtimeBom(command(['npm', 'sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']), described)
if (values.stdout) {
  process.stdout.write(bom)
} else {
  mkdirSync(join(root, 'dist'), { recursive: true })
  writeFileSync(join(root, 'dist', 'sbom.cdx.json'), bom)
  console.log('dist/sbom.cdx.json')
}
