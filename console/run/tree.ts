/** Conversation blocks as a tree: members' output below the member, even if several speak at once; nested steps likewise. */
import type { Actor } from 'holdfast/client'
import type { Block } from './blocks.ts'

interface Branch {
  readonly block: Block
  readonly below: Branch[]
}

export function inTree(blocks: readonly Block[], actors: ReadonlyMap<string, Actor>): readonly Block[] {
  if (!blocks.some(({ kind }) => kind === 'member' || kind === 'step')) return blocks
  const root: Branch[] = []
  /** Current children of each member and step: both may start again. */
  const members = new Map<string, Branch[]>()
  const steps = new Map<number, Branch[]>()
  const siblingsOf = (block: Block): Branch[] | undefined => {
    if (block.kind === 'step' && block.parent !== undefined) return steps.get(block.parent) ?? members.get(block.actor)
    if (block.kind === 'member')
      return steps.get(block.within ?? -1) ?? members.get(actors.get(block.actor)?.parent ?? '')
    return members.get(block.actor)
  }
  for (const block of blocks) {
    const branch: Branch = { block, below: [] }
    const siblings = siblingsOf(block) ?? root
    siblings.push(branch)
    if (block.kind === 'member') members.set(block.actor, branch.below)
    if (block.kind === 'step') steps.set(block.index, branch.below)
  }
  return [...walk(root)]
}

function* walk(branches: readonly Branch[]): Generator<Block, void, void> {
  for (const { block, below } of branches) {
    yield block
    yield* walk(below)
  }
}
