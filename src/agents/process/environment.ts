/** Environment of a child process: what programs need to run, without the server's secrets. */

/** On POSIX systems, and on Windows. */
export const inheritedNames: ReadonlySet<string> = new Set([
  'PATH',
  'HOME',
  'USER',
  'LOGNAME',
  'SHELL',
  'LANG',
  'LC_ALL',
  'LC_CTYPE',
  'TZ',
  'TMPDIR',
  'APPDATA',
  'COMSPEC',
  'LOCALAPPDATA',
  'PATHEXT',
  'PROGRAMFILES',
  'SYSTEMDRIVE',
  'SYSTEMROOT',
  'TEMP',
  'TMP',
  'USERNAME',
  'USERPROFILE',
  'WINDIR',
])

/** The server's variables that every child inherits. */
export function inheritedEnvironment(): Record<string, string> {
  return Object.fromEntries(
    // oxlint-disable-next-line node/no-process-env -- what a child inherits is that of the process
    Object.entries(process.env).flatMap(([name, value]) =>
      value !== undefined && inheritedNames.has(process.platform === 'win32' ? name.toUpperCase() : name)
        ? [[name, value]]
        : [],
    ),
  )
}
