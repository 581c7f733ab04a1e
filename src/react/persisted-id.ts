/** Remembers which run or session a page shows, so that a reload or another tab shows the same. */

export interface PersistedId {
  read(): string | undefined
  write(id: string | undefined): void
  /** Calls back when another tab or the browser's history changes it. */
  watch(changed: () => void): () => void
}

export function persistedId(where: 'url' | 'localStorage' | false, name: string): PersistedId | undefined {
  if (where === false) return undefined
  return where === 'url' ? urlPersistence(name) : storagePersistence(name)
}

/** In the URL: `?NAME=run_…`. The same URL shows the same run. */
function urlPersistence(name: string): PersistedId {
  return {
    read: () => new URLSearchParams(location.search).get(name) ?? undefined,
    write(id) {
      const url = new URL(location.href)
      if (id === undefined) url.searchParams.delete(name)
      else url.searchParams.set(name, id)
      history.replaceState(history.state, '', url)
    },
    watch: (changed) => listen('popstate', changed),
  }
}

/** In the browser's storage: all tabs show the run that was started last. */
function storagePersistence(name: string): PersistedId {
  const key = `holdfast:${name}`
  return {
    read: () => localStorage.getItem(key) ?? undefined,
    write: (id) => (id === undefined ? localStorage.removeItem(key) : localStorage.setItem(key, id)),
    watch: (changed) => listen('storage', changed),
  }
}

function listen(event: 'popstate' | 'storage', changed: () => void): () => void {
  addEventListener(event, changed)
  return () => removeEventListener(event, changed)
}
