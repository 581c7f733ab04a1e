/** Loads packages that only some users need, on first use. */
import { HoldfastError, messageOf } from '../model/errors.ts'

/** What `load` imports; where that fails, an error that says who needs which packages. Several are named with spaces between them. */
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
