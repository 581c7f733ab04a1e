/**
 * Copies a substring. In V8 `slice` returns a view that keeps the whole original in memory: a task that is polled while it
 * grows would keep every state it ever had.
 */
export function copySubstring(text: string): string {
  return JSON.parse(JSON.stringify(text)) as string
}
