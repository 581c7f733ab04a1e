/** Loads packages that only some users need, on first use. */
import { HoldfastError, messageOf } from '../model/errors.ts'

/** Imports with `load`. If that fails, throws an error that says who needs which packages. Separate several names with spaces. */
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
