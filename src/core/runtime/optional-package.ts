/** Loads packages that only some users need, on first use. */
import { HoldfastError, messageOf } from '../model/errors.ts'

/**
 * If a package is missing, throws an error that names it and its user. `names`: one package, or several separated by spaces.
 * The import in `load` needs a literal name, and comments that keep bundlers from resolving a package that may not be installed.
 */
export async function optionalPackage<Module>(
  user: string,
  names: string,
  load: () => Promise<Module>,
): Promise<Module> {
  try {
    return await load()
  } catch (cause) {
    const packages = names.includes(' ') ? 'packages' : 'package'
    const message = `${user} needs the ${packages} \`${names}\` (npm install ${names}): ${messageOf(cause)}`
    throw new HoldfastError('unsupported', message, { cause })
  }
}
