import { createStore } from './store.ts'

type Theme = 'system' | 'light' | 'dark'

const KEY = 'parley.theme'
export const THEMES: readonly Theme[] = ['system', 'light', 'dark']
const stored = THEMES.find((one) => one === localStorage.getItem(KEY))

/** The viewer's choice of colors. */
export const theme = createStore<Theme>(stored ?? 'system')

export function chooseTheme(chosen: string): void {
  const next = THEMES.find((one) => one === chosen) ?? 'system'
  localStorage.setItem(KEY, next)
  theme.set(next)
  apply(next)
}

function apply(chosen: Theme): void {
  document.documentElement.dataset.theme = chosen
}

apply(theme.get())
