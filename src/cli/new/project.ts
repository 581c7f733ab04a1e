/** Projects that `holdfast new` writes. Their agent needs no key and no network. */
import { expressFiles } from './express-template.ts'
import { honoFiles } from './hono-template.ts'
import { minimalFiles } from './minimal-template.ts'
import { nextFiles } from './next-template.ts'
import { reactFiles } from './react-template.ts'

export const templateNames = ['minimal', 'express', 'hono', 'next', 'react'] as const
export type TemplateName = (typeof templateNames)[number]

/** Version ranges of its dependencies. */
export interface ProjectVersions {
  /** A range, or `file:` and the path of a tarball. */
  readonly holdfast: string
  readonly ai: string
  readonly zod: string
  /** Minimum Node version. */
  readonly node: string
}

/** File contents by path. */
export type ProjectFiles = Readonly<Record<string, string>>

export type Template = (name: string, versions: ProjectVersions) => ProjectFiles

const templates: Readonly<Record<TemplateName, Template>> = {
  minimal: minimalFiles,
  express: expressFiles,
  hono: honoFiles,
  next: nextFiles,
  react: reactFiles,
}

export function projectFiles(template: TemplateName, name: string, versions: ProjectVersions): ProjectFiles {
  return templates[template](name, versions)
}
