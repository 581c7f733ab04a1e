/** The store of a server, a mounted instance and the command line whose user names none. */
export const DEFAULT_STORE = 'sqlite:.holdfast/holdfast.db'
