/** Runs an async function for every item, at most `limit` at a time. */
export async function mapWithConcurrency<Item>(
  limit: number,
  items: readonly Item[],
  work: (item: Item, position: number) => Promise<void>,
): Promise<void> {
  const waiting = items.entries()
  const workers = Array.from({ length: Math.min(limit, items.length) }, async () => {
    for (const [position, item] of waiting) await work(item, position)
  })
  await Promise.all(workers)
}
