/** The default store of a server, a mounted instance and the command line. */
export const DEFAULT_STORE = 'sqlite:.holdfast/holdfast.db'
