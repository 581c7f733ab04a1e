/** Works on all items, so many at once. */
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
