/** Values that are hard to serialize, the same on every call. */

/** One of each kind, as data for `custom.emitted`, in the field `value`. */
export const awkwardValues = {
  date: () => ({ value: new Date('2001-02-03T04:05:06.789Z') }),
  bytes: () => ({ value: Uint8Array.from({ length: 256 }, (_, byte) => byte) }),
  bigint: () => ({ value: 2n ** 64n }),
  nan: () => ({ value: Number.NaN }),
  function: () => ({ value: () => 'a function' }),
  circular(): object {
    const loop: { value?: object } = {}
    loop.value = loop
    return loop
  },
  getter: () => ({
    get value(): never {
      throw new Error('this getter throws')
    },
  }),
} as const

/** Objects nested `depth` levels deep. */
export function nested(depth: number): object {
  let value: object | null = null
  for (let level = 0; level < depth; level++) value = { value }
  return { value }
}

/** Text of `kib` KiB. */
export function filler(kib: number): string {
  return 'holdfast'.repeat(kib * 128)
}
