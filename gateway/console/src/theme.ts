import { createStore } from './store.ts'

type Theme = 'system' | 'light' | 'dark'

const KEY = 'parley.theme'
const THEMES: readonly Theme[] = ['system', 'light', 'dark']
const stored = THEMES.find((one) => one === localStorage.getItem(KEY))

/** The viewer's choice of colors. */
export const theme = createStore<Theme>(stored ?? 'system')

export function nextTheme(): void {
  const next = THEMES[(THEMES.indexOf(theme.get()) + 1) % THEMES.length] ?? 'system'
  localStorage.setItem(KEY, next)
  theme.set(next)
  apply(next)
}

function apply(chosen: Theme): void {
  document.documentElement.dataset.theme = chosen
}

apply(theme.get())
