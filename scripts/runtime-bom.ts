/**
 * Reduces npm's bill of materials to runtime dependencies. `npm sbom --omit dev` also omits runtime dependencies that development
 * dependencies share, so this walks the graph. It also corrects the package name, which npm takes from the folder, and removes download
 * addresses, which may be those of a mirror.
 */

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly externalReferences?: readonly { readonly type: string }[]
}

interface Dependency {
  readonly ref: string
  readonly dependsOn: readonly string[]
}

interface Bom {
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly Dependency[]
}

interface Package {
  readonly name: string
  readonly dependencies: Readonly<Record<string, string>>
}

export function runtimeBom(text: string, { name, dependencies }: Package): string {
  const bom = JSON.parse(text) as Bom
  const root = bom.metadata.component['bom-ref']
  const graph = new Map(bom.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))
  const isDirect = (ref: string): boolean => Object.hasOwn(dependencies, ref.slice(0, ref.lastIndexOf('@')))
  const direct = (graph.get(root) ?? []).filter(isDirect)
  const kept = reachableFrom(direct, graph)
  const shown = {
    ...bom,
    metadata: { ...bom.metadata, component: { ...withoutDistribution(bom.metadata.component), name } },
    components: bom.components.filter((component) => kept.has(component['bom-ref'])).map(withoutDistribution),
    dependencies: bom.dependencies
      .filter(({ ref }) => ref === root || kept.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((each) => kept.has(each)) })),
  }
  return `${JSON.stringify(shown, undefined, 2)}\n`
}

function reachableFrom(refs: readonly string[], graph: ReadonlyMap<string, readonly string[]>): Set<string> {
  const found = new Set(refs)
  // Iterating a set includes entries added during the iteration.
  for (const ref of found) for (const next of graph.get(ref) ?? []) found.add(next)
  return found
}

function withoutDistribution({ externalReferences = [], ...component }: Component): Component {
  return { ...component, externalReferences: externalReferences.filter(({ type }) => type !== 'distribution') }
}
