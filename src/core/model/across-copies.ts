/**
 * Makes `instanceof` true for instances of other copies of a class. Bundlers and development servers load the package more than once
 * per process, and an agent of one copy may run in the engine of another.
 */
export function acrossCopies(type: abstract new (...given: never[]) => object, name: string): void {
  const brand = Symbol.for(`holdfast.${name}`)
  Object.defineProperty(type.prototype, brand, { value: true })
  Object.defineProperty(type, Symbol.hasInstance, {
    value(this: unknown, candidate: unknown): boolean {
      if (this !== type) return Function.prototype[Symbol.hasInstance].call(this as () => void, candidate)
      return typeof candidate === 'object' && candidate !== null && brand in candidate
    },
  })
}
