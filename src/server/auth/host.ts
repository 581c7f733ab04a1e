/** Authentication by the host application: its cookies, sessions and middleware decide who calls. */
import { HoldfastError } from '../../core/model/errors.ts'
import {
  type Authenticator,
  credentialMissing,
  credentialRefused,
  type HostRequest,
  isReservedId,
  type Principal,
} from '../../core/model/principal.ts'

/** Returns who sent a request, or null. Streams end when `credential.expiresAt` of the principal has passed. */
export type Authenticate = (
  request: HostRequest,
) => Principal | null | undefined | Promise<Principal | null | undefined>

/** `others` decides about requests that `authenticate` returns null for. */
export function hostAuthenticator(authenticate: Authenticate, others?: Authenticator): Authenticator {
  return {
    scheme: 'host',
    async authenticate(credential) {
      const { request, bearer } = credential
      const principal = request === undefined ? undefined : await authenticate(request)
      if (principal !== undefined && principal !== null) return checkPrincipal(principal)
      if (others !== undefined) return others.authenticate(credential)
      throw bearer === undefined ? credentialMissing() : credentialRefused()
    },
    isRevoked: async (credential) => (await others?.isRevoked?.(credential)) === true,
    removeCredentials: async (who, how) => (await others?.removeCredentials?.(who, how)) ?? 0,
  }
}

const ID_CHARS_MAX = 1000

/** A user with such a name must not become the server itself, or the owner of an API key. */
function checkPrincipal(principal: Principal): Principal {
  const { id, tenant } = principal
  if (!isName(id) || (tenant !== undefined && !isName(tenant)))
    throw new HoldfastError('internal', 'authenticate returned a principal whose id or tenant is not a string')
  if (isReservedId(id))
    throw new HoldfastError('internal', `authenticate returned the reserved id ${JSON.stringify(id.slice(0, 100))}`)
  const { share: _share, ...rest } = principal
  return rest
}

function isName(text: unknown): boolean {
  return typeof text === 'string' && text !== '' && text.length <= ID_CHARS_MAX
}
