import { h, render } from 'preact'
import { resume } from './api.ts'
import { App } from './app.tsx'
import { followHistory } from './router.ts'
import { followTyping } from './unsaved.ts'

/** Shows the console, once its language is there. */
export function start(): void {
  followTyping()
  followHistory()
  void resume()
  const root = document.getElementById('console')
  if (root === null) return
  root.replaceChildren()
  render(h(App, null), root)
}
