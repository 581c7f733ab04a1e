/** Packages that only some users need are loaded when they are first needed. */
import { HoldfastError, messageOf } from '../../core/errors.ts'

/** What `load` imports; where that fails, an error that says what to install. */
export async function optionalPackage<Module>(name: string, load: () => Promise<Module>): Promise<Module> {
  try {
    return await load()
  } catch (cause) {
    const message = `this component needs the package \`${name}\` (npm install ${name}): ${messageOf(cause)}`
    throw new HoldfastError('unsupported', message, { cause })
  }
}
